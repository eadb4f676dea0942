"""Files that are either whole or not there."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tiedlm.errors import RunError
from tiedlm.paths import reason


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """A path beside `path` to write a file to; synced and renamed to `path` when the block ends well, else removed.

    Where `path` is a link, the file it leads to is replaced. Raises RunError("disk") that names `path` where it cannot
    be written, or is no file (a device, say, which a rename would do away with).
    """
    handle, name = -1, ""
    try:
        path = path.resolve()
        if path.exists() and not path.is_file():
            raise RunError("disk", f"{path} is there and is no ordinary file: it is left alone")
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
        permit(Path(name))
        yield Path(name)
        with open(name, "rb") as written:  # noqa: PTH123 (a descriptor to sync)
            os.fsync(written.fileno())
        Path(name).replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise RunError("disk", f"{path} could not be written: {reason(error, path)}") from error
    finally:
        if name:
            Path(name).unlink(missing_ok=True)


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write `data` (text as UTF-8) to `path`, whole or not at all."""
    with atomic_path(path) as partial:
        partial.write_bytes(data.encode() if isinstance(data, str) else data)


def remove(path: Path) -> None:
    """Remove a file, or what `remove_folder` removes; raises OSError."""
    if path.is_dir():
        remove_folder(path)
    else:
        path.unlink(missing_ok=True)


def remove_folder(path: Path) -> None:
    """Remove a folder with what is in it, or a link without what it leads to; a file is left. Raises OSError."""
    if path.is_symlink():
        path.unlink()
    elif path.exists():
        shutil.rmtree(path)


def permit(path: Path) -> None:
    """Give a file the permissions that the user gives to files; made by a library, it may be closed to all others."""
    path.chmod(0o666 & ~_umask())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sync_folder(folder: Path) -> None:
    """Let the names in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
