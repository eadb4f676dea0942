"""What `tiedlm prepare` prints: corpus, tokenizer and the size of each split."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from tiedlm.report.figures import numbers
from tiedlm.report.figures.table import Row, Table
from tiedlm.report.formats.terminal_writer import TerminalWriter

_FIGURES = ("tokens", "words", "rows", "documents", "bytes")


_OVERLAP = (("documents in train too", "documents"), ("8-grams of words in train too", "sampled_8grams"))


def _part(found: Mapping[str, int] | None, key: str) -> str:
    """ "2 of 60"; nothing of the train split itself."""
    return f"{found[f'{key}_in_train']:,} of {found[key]:,}" if found else numbers.NOTHING


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
        overlap = document["overlap"] or {}
        rows += [
            Row.of(label, (_part(overlap.get(split), key) for split in splits)) for label, key in _OVERLAP if overlap
        ]
        writer.table(Table(tuple(splits), tuple(rows)))
        writer.paragraphs(document["notes"], blank_line_above=True)
