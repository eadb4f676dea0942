"""What `tiedlm evaluate` prints: the scores of one split."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from tiedlm.report.figures.numbers import count, decimal
from tiedlm.report.figures.table import Row, Table
from tiedlm.report.formats.terminal_writer import TerminalWriter


def render_evaluation(document: Mapping[str, Any], console: Console) -> None:
    """Print an evaluation; `document` as in the JSON of `evaluate`."""
    writer = TerminalWriter(console)
    writer.paragraph(f"{document['run']}: {document['split']} split", "bold")
    writer.blank_line()
    writer.table(Table((document["split"],), tuple(_rows(document))))
    reasons = {document[f"{unit}_reason"] for unit in ("words", "bytes")} - {None}
    for reason in sorted(reasons):
        writer.blank_line()
        writer.paragraph(f"–: {reason}.")


def _rows(document: Mapping[str, Any]) -> Iterator[Row]:
    for label, key, decimals in (
        ("perplexity per token", "token_perplexity", 2),
        ("perplexity per word", "word_perplexity", 2),
        ("bits per byte", "bits_per_byte", 4),
        ("nll per token, nats", "nats_per_token", 4),
        ("unigram perplexity", "unigram_perplexity", 2),
    ):
        yield Row(label, (decimal(document[key], decimals),))
    for key in ("tokens", "words", "bytes", "documents"):
        yield Row(key, (count(document[key]),))
    if document["state_carried"]:
        yield Row("window", ("none: the state is carried",))
    else:
        yield Row("window, tokens", (count(document["seq_len"]),))
        yield Row("stride, tokens", (count(document["stride"]),))
    yield Row("precision of the body", (document["precision"],))
