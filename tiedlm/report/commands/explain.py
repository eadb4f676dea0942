"""What `tiedlm configs explain` prints: keys of a config, in full or one a line."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from tiedlm.report.commands.configs import write_names
from tiedlm.report.formats.terminal_writer import TerminalWriter

Document = Mapping[str, Any]


def render_keys(explained: Sequence[Document], listed: Sequence[Document], console: Console) -> None:
    """Those that were asked for in full, then the others one a line."""
    writer = TerminalWriter(console)
    for number, key in enumerate(explained):
        if number:
            writer.blank_line()
        _in_full(key, writer)
    if explained and listed:
        writer.blank_line()
    lines: dict[str, str] = {}
    for key in listed:
        lines[key["key"]] = f"{lines[key['key']]} Or: {key['meaning']}" if key["key"] in lines else key["meaning"]
    write_names(lines, writer, widest=34)


def _in_full(key: Document, writer: TerminalWriter) -> None:
    writer.paragraph(key["key"])
    writer.paragraph(key["meaning"], indent=2)
    if key["when"]:
        kind = key["when"][0].rpartition(": ")[0]
        choices = [when.rpartition(": ")[2] for when in key["when"]]
        writer.paragraph(f"with      {kind}: {' or '.join(choices)}", indent=2, hang=10)
    writer.paragraph(f"type      {key['type']}", indent=2, hang=10)
    writer.paragraph(f"default   {'none: it is required' if key['required'] else key['default']}", indent=2)
    writer.paragraph(f"source    {key['source']}", indent=2)
    for choice, meaning in key["choices"].items():
        if meaning:
            writer.paragraph(f"{choice}: {meaning}", indent=4, hang=2)
