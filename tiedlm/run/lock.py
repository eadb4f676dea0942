"""A run's folder belongs to one process at a time. Free of torch."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tiedlm.errors import RunError
from tiedlm.files import write_atomic
from tiedlm.paths import reason
from tiedlm.talk import Talk

LOCK_FILE = "lock"
_HOLDER_FILE = "lock.json"
_PATIENCE = 600
"""Seconds in which a process that was told to end has taken its step and saved."""


@contextmanager
def hold(folder: Path, talk: Talk, when_held: Callable[[], None]) -> Iterator[None]:
    """Lock a folder for this process until the block or the process ends; `when_held` is called once it is locked.

    Raises RunError("busy") that names the holder where another process has it, RunError("disk") where nothing can be
    written. A holder whose parent was killed is about to save and end: it is waited for, and `talk` says so.
    Where nothing came of the block, the folders that were made for it go again.
    """
    from filelock import FileLock, Timeout

    holder = folder / _HOLDER_FILE
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    lock = FileLock(folder / LOCK_FILE, timeout=0.2)  # a process that ends just now is given time to end
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout:
            if not _is_orphan(holder):
                raise
            talk.say(f"waiting for {_name_of(holder)}, whose parent is gone, to save its state and end")
            lock.acquire(timeout=_PATIENCE)
        when_held()
        write_atomic(holder, json.dumps({"process": os.getpid(), "parent": os.getppid()}))
    except Timeout:
        raise RunError("busy", f"{folder} is in use by {_name_of(holder)}") from None
    except (OSError, RunError) as error:
        lock.release()
        why = reason(error, Path(error.filename or folder)) if isinstance(error, OSError) else error
        raise RunError("disk", f"{folder} cannot be used: {why}") from error
    try:
        yield
    finally:
        holder.unlink(missing_ok=True)
        if made and [path.name for path in folder.iterdir()] == [LOCK_FILE]:
            _remove(folder, made)
        lock.release()


def _remove(folder: Path, made: list[Path]) -> None:
    """Remove a folder with nothing but its lock, and those above it that hold nothing; none that is in use."""
    with suppress(OSError):
        (folder / LOCK_FILE).unlink()
        for path in made:
            path.rmdir()


def _is_orphan(holder: Path) -> bool:
    """Whether the process that holds the folder has lost its parent, with which it ends."""
    try:
        os.kill(int(json.loads(holder.read_bytes())["parent"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return False  # the parent lives and is another user's, or nothing is known of it
    return False


def _name_of(holder: Path) -> str:
    try:
        return f"process {json.loads(holder.read_bytes())['process']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
