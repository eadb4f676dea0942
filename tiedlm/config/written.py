"""Text of a config that knows where it was written, so that a path in it means the same from everywhere.

Free of torch.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Self

from tiedlm.paths import absolute, user_path


class Written(str):
    """A text, and the absolute `folder` that a relative path in it is taken from."""

    folder: Path

    def __new__(cls, text: str, folder: Path) -> Self:
        self = super().__new__(cls, text)
        self.folder = folder
        return self


def written_in(value: Any, folder: Path) -> Any:
    """`value` with every text in it written in `folder`, those aside that were written elsewhere before."""
    if isinstance(value, dict):
        return {key: written_in(inner, folder) for key, inner in value.items()}
    if isinstance(value, list):
        return [written_in(inner, folder) for inner in value]
    return Written(value, folder) if isinstance(value, str) and not isinstance(value, Written) else value


def plain(value: Any, keep: Collection[str], key: str = "") -> Any:
    """`value` with ordinary texts, which is all that pydantic knows, but for those below the dotted keys in `keep`."""
    if key in keep:
        return value
    if isinstance(value, dict):
        return {name: plain(inner, keep, f"{key}.{name}" if key else name) for name, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner, (), key) for inner in value]
    return str(value) if isinstance(value, Written) else value


def located(value: object) -> object:
    """The absolute path that a text names; one that was stored, and not written by a user, stays as it is.

    Raises ValueError where no file can be called so.
    """
    if isinstance(value, Written):
        return absolute(value, value.folder)
    if isinstance(value, str):
        user_path(value)
    return value
