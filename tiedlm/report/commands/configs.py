"""What `tiedlm configs` prints: names with their purposes."""

from collections.abc import Mapping

from rich.console import Console

from tiedlm.report.formats.terminal_writer import TerminalWriter


def render_config_list(purposes: Mapping[str, str], console: Console) -> None:
    """Each name with what it is for beside it, or below it where the terminal is narrow."""
    writer = TerminalWriter(console)
    column = max(map(len, purposes), default=0) + 2
    for name, purpose in purposes.items():
        if column + len(purpose) <= console.width:
            writer.paragraph(f"{name.ljust(column)}{purpose}")
            continue
        writer.paragraph(name)
        writer.paragraph(purpose, indent=4)
