"""Which version of this code a kept forecast was made with. Free of torch."""

import hashlib
from functools import cache
from pathlib import Path

import tiedlm

PARTS = (
    "config",
    "data",
    "errors.py",
    "evaluation",
    "files.py",
    "forecast",
    "initialization.py",
    "kernels",
    "model",
    "paths.py",
    "progress_bar.py",
    "streams.py",
    "talk.py",
    "time_left.py",
    "training",
    "tying",
)
"""Everything that a forecast imports, or may import one day: what stands below `forecast` in the order of imports."""


@cache
def sources_sha256(package: Path = Path(tiedlm.__file__).parent) -> str:
    """SHA-256 of all files of the package that a forecast of memory or a count of parameters may depend on."""
    digest = hashlib.sha256()
    for part in PARTS:
        place = package / part
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(file.relative_to(package).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()
