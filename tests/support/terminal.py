"""What a terminal of some width shows."""

import io
from collections.abc import Callable

from rich.console import Console


def printed_on(width: int, render: Callable[[Console], None], encoding: str = "utf-8") -> str:
    """All that is printed to a console that is no terminal, so that nothing of it is colour."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    render(Console(file=stream, width=width, markup=False, emoji=False, highlight=False))
    stream.seek(0)
    return stream.read()


def unwrapped(text: str) -> str:
    """The text with one space for each gap."""
    return " ".join(text.split())
