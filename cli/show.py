"""Prints a comparison, whether of variants or of an experiment with recipes or budgets."""

from pathlib import Path
from typing import TYPE_CHECKING

from .output import print_json

if TYPE_CHECKING:
    from tiedlm.report.formats.document import Document


def show(document: "Document", details: bool, as_json: bool, stored_in: Path | None) -> None:
    """The document on stdout: as one screen, with `details` above it, or as JSON; `stored_in` is where it lies."""
    if as_json:
        print_json(document.model_dump(mode="json"))
        return
    from tiedlm.report.formats.document import has_figures, render

    from .console import console
    from .next_command import command_line

    command = command_line("report", stored_in) if stored_in and has_figures(document) else ""
    render(document, console(), details, stored_in, command)
