"""Where the bytes of a file come from: a disk here, or a server elsewhere. Free of torch."""

from pathlib import Path, PurePosixPath
from typing import Protocol

from tiedlm.checkpoints.refusal import unreadable
from tiedlm.paths import reason


class ByteSource(Protocol):
    """A file whose parts can be read one by one."""

    name: str
    """As messages call it."""
    block_size: int
    """How many bytes are worth while to ask for at once."""
    is_remote: bool

    def size(self) -> int:
        """Bytes in the file."""

    def read(self, start: int, length: int) -> bytes:
        """Exactly `length` bytes from `start` on; raises ConfigError where they are not to be had."""


class LocalFile:
    """A file on this machine."""

    block_size = 4 * 2**20
    is_remote = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)

    def size(self) -> int:
        try:
            status = self.path.stat()
        except OSError as error:
            raise unreadable(self.name, reason(error, self.path)) from None
        if not self.path.is_file():
            raise unreadable(self.name, "is no ordinary file")
        return status.st_size

    def read(self, start: int, length: int) -> bytes:
        try:
            with self.path.open("rb", buffering=0) as file:
                file.seek(start)
                parts: list[bytes] = []
                while length > 0 and (part := file.read(length)):
                    parts.append(part)
                    length -= len(part)
        except OSError as error:
            raise unreadable(self.name, reason(error, self.path)) from None
        if length:
            raise unreadable(self.name, f"ends {length:,} bytes too early: was it written or copied to its end?")
        return b"".join(parts)


def read_whole(source: ByteSource, at_most: int) -> bytes:
    """All of a small file; refused where it is larger than `at_most` bytes."""
    size = source.size()
    if size > at_most:
        raise unreadable(source.name, f"has {size:,} bytes, more than the {at_most:,} that such a file may have")
    return source.read(0, size)


def is_within(name: str) -> bool:
    """Whether a file's name, as another file gives it, stays in the folder."""
    parts = name.replace("\\", "/").split("/")
    return bool(name) and not PurePosixPath(name).is_absolute() and "\0" not in name and not {"", "..", "."} & {*parts}
