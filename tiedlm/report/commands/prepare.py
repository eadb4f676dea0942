"""Prepared text on the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from tiedlm.report.figures import numbers
from tiedlm.report.figures.table import Records, Row
from tiedlm.report.formats.terminal_writer import Page

_FIGURES = ("tokens", "words", "rows", "documents", "bytes")


def render_prepared(documents: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print what `tiedlm prepare` made or found; `documents` as in its JSON."""
    page = Page(console)
    for index, document in enumerate(documents):
        if index:
            page.blank()
        page.prose(f"{document['corpus']}; {document['tokenizer']}, V = {document['vocab_size']:,}", "bold")
        page.blank()
        splits = document["splits"]
        rows = [Row.of(key, (numbers.count(split[key]) for split in splits.values())) for key in _FIGURES]
        page.records(Records(tuple(splits), tuple(rows)))
        if document["notes"]:
            page.blank()
        for note in document["notes"]:
            page.prose(note)
