"""Taking a run out of its folder, so that wherever that is broken off the folder still says what it holds."""

import os
from collections.abc import Sequence
from pathlib import Path

from tiedlm.errors import RunError
from tiedlm.files import remove

_ASIDE = ".cleared.part"
"""Where what is removed is for a moment."""


def clear(folder: Path, places: Sequence[Path], last: Path) -> None:
    """Remove `places` and then `last`, all of them in `folder`; raises RunError("disk").

    They are moved aside first, in their order, and back again where any of them cannot be moved. Of links the link is
    removed, not what it leads to.
    """
    aside = folder / _ASIDE
    try:
        aside.mkdir(exist_ok=True)
        _move(places, aside)
    except OSError as error:
        message = f"{folder} could not be cleared, and is as it was: {error.filename}: {error.strerror}"
        raise RunError("disk", message) from error
    try:
        remove(aside)
        last.unlink(missing_ok=True)
    except OSError as error:
        message = f"{folder} could not be cleared: what is left is in {aside}: {error.strerror}"
        raise RunError("disk", message) from error


def _move(places: Sequence[Path], folder: Path) -> None:
    """Move those that are there, links as links, into a folder; all back, the last first, where one cannot be moved."""
    moved: list[Path] = []
    try:
        for place in places:
            if os.path.lexists(place):
                place.rename(folder / place.name)
                moved.append(place)
    except OSError:
        for place in reversed(moved):
            (folder / place.name).rename(place)
        raise
