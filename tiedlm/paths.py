"""Paths as users write them, and why the system refuses one. Imports nothing that takes time."""

import errno
import os
import sys
from pathlib import Path

from tiedlm.errors import ConfigError, Problem

_FULL = {
    errno.ENOSPC: "is the disk full?",
    errno.EDQUOT: "is the quota used up?",
    errno.EFBIG: "is a file-size limit set?",
}
"""System errors for want of room, each with what to look for."""
_UNREACHABLE = {errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES}
"""System errors of looking a path up, after which nobody knows whether anything is there."""


class NoHomeError(ConfigError):
    """Nobody knows the home folder: HOME is empty, or not set for a user without an entry in the user database."""


def user_path(given: str | Path, key: str = "", source: str = "", base: Path | None = None) -> Path:
    """A path that a user wrote; `~` and `~name` at its start are home folders, unless a file here is called `~name`.

    A relative one stays relative, or becomes one in the absolute folder `base`. Raises ConfigError with `key` where no
    file can be called so, or where no home folder is known.
    """
    text = os.fspath(given)
    _check_name(text, key, source)
    path = _without_tilde(Path(text), key, source, base) if text.startswith("~") else Path(text)
    return path if base is None else base / path


def absolute(given: str, base: Path, key: str = "", source: str = "") -> str:
    """A path as a config stores it: relative ones are taken from `base`, `.` and `..` are gone. Raises ConfigError."""
    if not given:
        raise ConfigError(Problem(key, "is empty: it must name a file"), source=source)
    path = user_path(given, key, source, base)
    if ".." in path.parts:  # after a link, the folder above is another one than the text says
        path = Path(os.path.realpath(path.parent), path.name) if path.name != ".." else Path(os.path.realpath(path))
    text = str(path)
    if any("\ud800" <= symbol <= "\udfff" for symbol in text):
        message = f"{given} lies in {path.parent}, whose name is no text in {_ENCODING}: give that folder another name"
        raise ConfigError(Problem(key, message), source=source)
    return text


def may_be_same(one: str, other: str) -> bool:
    """Whether two stored paths may name one file: they are equal, or one is relative and the other ends with it.

    Which folder a relative one was taken from was not stored.
    """
    if one == other:
        return True
    shorter, longer = sorted(map(Path, map(os.path.expanduser, (one, other))), key=Path.is_absolute)
    if shorter.is_absolute() == longer.is_absolute():
        return os.path.normpath(shorter) == os.path.normpath(longer)
    parts = Path(os.path.normpath(shorter)).parts
    while parts and parts[0] == "..":
        parts = parts[1:]
    return bool(parts) and longer.parts[-len(parts) :] == parts


def working_folder() -> Path:
    """The absolute path of the folder that the command was started in; raises ConfigError where it was removed."""
    try:
        return Path.cwd()
    except OSError as error:
        raise ConfigError(Problem("", f"the folder you are in cannot be used: {error.strerror}")) from None


def check_folder(path: Path, key: str = "") -> None:
    """Raise ConfigError where `path` is no folder and none can be made there, whoever may write there."""
    _refuse(obstacle(path) or _wrong_kind(path, is_folder=True), path, key)


def check_file(path: Path, key: str = "") -> None:
    """Raise ConfigError where `path` is no ordinary file and none can be made there, whoever may write there."""
    _refuse(obstacle(path) or _wrong_kind(path, is_folder=False), path, key)


def _refuse(wrong: str | None, path: Path, key: str) -> None:
    if wrong is not None:
        named = shortened(path)
        raise ConfigError(Problem(key, wrong if wrong.startswith(f"{named} ") else f"{named}: {wrong}"))


def reason(error: OSError, path: Path) -> str:
    """Why the system refused `path`: what stands in the way of it, else the system's own words and where to look."""
    found = obstacle(path) if error.errno in (errno.ENOENT, errno.EEXIST, errno.ENOTDIR) else None
    if found:
        return found
    hint = _FULL.get(error.errno or 0)
    said = error.strerror or str(error)
    return f"{said} ({hint})" if hint else said


def is_full(error: OSError) -> bool:
    """Whether it is for want of room: a full disk, a used-up quota or a limit on the size of a file."""
    return error.errno in _FULL


def obstacle(path: Path) -> str | None:
    """What keeps anything from being at `path`: a dead link on the way or there, a file on the way, the name itself."""
    for place in (*reversed(path.parents), path):
        try:
            place.stat()
        except OSError as error:
            if error.errno in _UNREACHABLE:
                return error.strerror
            if place.is_symlink():
                return f"{shortened(place)} is a link to {shortened(place.readlink())}, which is not there"
        else:
            if place != path and not place.is_dir():
                return f"{shortened(place)} is a file, not a folder"
    return None


def shortened(path: Path | str) -> str:
    """A path for a message; one that is far too long is cut, and shows that it is."""
    text = str(path)
    return text if len(text) <= 300 else f"{text[:200]}... ({len(text):,} characters)"


_ENCODING = sys.getfilesystemencoding()


def _check_name(text: str, key: str, source: str) -> None:
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        message = (
            f"{shortened(text)}: file names are {_ENCODING} in this locale, which has no {text[error.start]!r}; "
            f"with LC_ALL=C.UTF-8 or PYTHONUTF8=1 they are UTF-8"
        )
        raise ConfigError(Problem(key, message), source=source) from None
    if "\0" in text:
        raise ConfigError(Problem(key, f"{shortened(text)!r}: no file name can hold a NUL character"), source=source)


def _without_tilde(path: Path, key: str, source: str, base: Path | None) -> Path:
    first = path.parts[0]
    if first != "~" and os.path.lexists(base / first if base else first):
        return path
    home = os.path.expanduser(first)  # noqa: PTH111 (pathlib raises where a name is no user's)
    if first == "~" and (home == "~" or os.environ.get("HOME") == ""):  # an empty HOME would come to "/"
        raise NoHomeError(Problem(key, f"{path}: no home folder is known, HOME is not set: give a full path"))
    return Path(home, *path.parts[1:])


def _wrong_kind(path: Path, *, is_folder: bool) -> str | None:
    try:
        if not path.exists():
            return None
        if is_folder:
            return None if path.is_dir() else f"{shortened(path)} is a file, not a folder"
        if path.is_dir():
            return f"{shortened(path)} is a folder, not a file"
        return None if path.is_file() else f"{shortened(path)} is no ordinary file: it is left alone"
    except OSError:
        return None  # a folder that may not be looked into: whoever opens it says so
