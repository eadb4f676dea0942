"""What `tiedlm configs` prints: names with their purposes."""

from collections.abc import Mapping

from rich.console import Console

from tiedlm.report.formats.terminal_writer import TerminalWriter


def render_config_list(purposes: Mapping[str, str], console: Console) -> None:
    """Each name with what it is for beside it, or below it where the terminal is narrow."""
    write_names(purposes, TerminalWriter(console))


def write_names(texts: Mapping[str, str], writer: TerminalWriter, widest: int = 60) -> None:
    """Each name with its text beside it, or below it where it does not fit or the name is wider than `widest`."""
    column = min(max(map(len, texts), default=0), widest) + 2
    for name, text in texts.items():
        room = writer.console.width - column
        if len(name) < column and (len(text) <= room or (room >= 30 and widest < 60)):
            writer.paragraph(f"{name.ljust(column)}{text}", hang=column)
            continue
        writer.paragraph(name)
        writer.paragraph(text, indent=4)
