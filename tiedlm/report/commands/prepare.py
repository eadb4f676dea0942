"""What `tiedlm prepare` prints: corpus, tokenizer and the size of each split."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from tiedlm.report.figures import numbers
from tiedlm.report.figures.table import Row, Table
from tiedlm.report.formats.terminal_writer import TerminalWriter

_FIGURES = ("tokens", "words", "rows", "documents", "bytes")


def render_prepared_data(documents: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print prepared data; `documents` as in the JSON of `prepare`."""
    writer = TerminalWriter(console)
    for index, document in enumerate(documents):
        if index:
            writer.blank_line()
        writer.paragraph(f"{document['corpus']}; {document['tokenizer']}, V = {document['vocab_size']:,}", "bold")
        writer.blank_line()
        splits = document["splits"]
        rows = [Row.of(key, (numbers.count(split[key]) for split in splits.values())) for key in _FIGURES]
        writer.table(Table(tuple(splits), tuple(rows)))
        writer.paragraphs(document["notes"], blank_line_above=True)
