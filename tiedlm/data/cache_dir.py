"""Where what is made of text is kept. Imports nothing that takes time: every command asks."""

import os
from pathlib import Path


def default_cache_dir() -> Path:
    """$TIEDLM_CACHE, else tiedlm under $XDG_CACHE_HOME, else ~/.cache/tiedlm."""
    chosen = os.environ.get("TIEDLM_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tiedlm"
