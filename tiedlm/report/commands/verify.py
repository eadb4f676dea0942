"""What `tiedlm verify` prints: how much was recomputed, and each stored value that does not hold."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from tiedlm.report.figures.numbers import count
from tiedlm.report.formats.terminal_writer import TerminalWriter

_MAX_LISTED = 50
_COMPARISON = "comparison.json"


def render_verification(document: Mapping[str, Any], console: Console) -> None:
    """Print a verification, the sum of it first; `document` as in the JSON of `verify`."""
    writer = TerminalWriter(console)
    failed = document["failed"]
    runs = "one run" if document["num_runs"] == 1 else f"{count(document['num_runs'])} runs"
    checked = f"{count(document['num_numbers'])} numbers and {count(document['num_words'])} other values of {runs}"
    outcome = f"{count(len(failed))} do not hold" if len(failed) > 1 else "one does not hold" if failed else "all hold"
    writer.paragraph(f"{document['folder']}: recomputed {checked}; {outcome}.", "bold")
    for fault in failed[:_MAX_LISTED]:
        writer.paragraph(f"{fault['file']}, {fault['key']}: stored {fault['stored']}, recomputed {fault['recomputed']}")
    if len(failed) > _MAX_LISTED:
        writer.paragraph(f"and {count(len(failed) - _MAX_LISTED)} more (--json lists all)")
    if any(fault["file"] == _COMPARISON for fault in failed):
        writer.paragraph(f"Where {_COMPARISON} is removed, `tiedlm compare CONFIG` makes it anew from the runs.")
    writer.paragraph(f"Taken as stored: {'; '.join(document['not_checked'])}.")
