"""Named things, one a line, on the terminal."""

from collections.abc import Mapping

from rich.console import Console

from tiedlm.report.formats.terminal_writer import Page


def render_listing(purposes: Mapping[str, str], console: Console) -> None:
    """Each name with what it is for beside it, or below it where the terminal is narrow."""
    page = Page(console)
    column = max(map(len, purposes), default=0) + 2
    for name, purpose in purposes.items():
        if column + len(purpose) <= console.width:
            page.prose(f"{name.ljust(column)}{purpose}")
            continue
        page.prose(name)
        page.prose(purpose, indent=4)
