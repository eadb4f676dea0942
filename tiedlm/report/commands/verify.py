"""What was recomputed and what does not hold, on the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from tiedlm.report.figures.numbers import count
from tiedlm.report.formats.terminal_writer import Page

_MOST = 50
_COMPARISON = "comparison.json"


def render_verified(document: Mapping[str, Any], console: Console) -> None:
    """Print what `tiedlm verify --json` holds: the sum of it, then each value that does not hold."""
    page = Page(console)
    failed = document["failed"]
    runs = "one run" if document["num_runs"] == 1 else f"{count(document['num_runs'])} runs"
    checked = f"{count(document['num_numbers'])} numbers and {count(document['num_words'])} other values of {runs}"
    outcome = f"{count(len(failed))} do not hold" if len(failed) > 1 else "one does not hold" if failed else "all hold"
    page.prose(f"{document['folder']}: recomputed {checked}; {outcome}.", "bold")
    for fault in failed[:_MOST]:
        page.prose(f"{fault['file']}, {fault['key']}: stored {fault['stored']}, recomputed {fault['recomputed']}")
    if len(failed) > _MOST:
        page.prose(f"and {count(len(failed) - _MOST)} more (--json lists all)")
    if any(fault["file"] == _COMPARISON for fault in failed):
        page.prose(f"Where {_COMPARISON} is removed, `tiedlm compare CONFIG` makes it anew from the runs.")
    page.prose(f"Taken as stored: {'; '.join(document['not_checked'])}.")
