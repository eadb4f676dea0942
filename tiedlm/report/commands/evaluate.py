"""What `tiedlm evaluate` prints: the scores of one split."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from rich.console import Console

from tiedlm.report.figures.cells import known
from tiedlm.report.figures.numbers import count, decimal
from tiedlm.report.figures.table import Row, Shown, Table
from tiedlm.report.formats.terminal_writer import TerminalWriter


def render_evaluation(document: Mapping[str, Any], console: Console) -> None:
    """Print an evaluation; `document` as in the JSON of `evaluate`."""
    writer = TerminalWriter(console)
    writer.paragraph(f"{document['run']}: {document['split']} split", "bold")
    writer.blank_line()
    writer.table(Table((document["split"],), tuple(_rows(document))))


def _rows(document: Mapping[str, Any]) -> Iterator[Row]:
    for label, key, decimals in (
        ("perplexity per token", "token_perplexity", 2),
        ("perplexity per word", "word_perplexity", 2),
        ("bits per byte", "bits_per_byte", 4),
        ("nll per token, nats", "nats_per_token", 4),
        ("unigram perplexity", "unigram_perplexity", 2),
    ):
        yield Row.of(label, [_known(document, key, partial(decimal, decimals=decimals))])
    for key in ("tokens", "words", "bytes", "documents"):
        yield Row.of(key, [_known(document, key, count)])
    if document["state_carried"]:
        yield Row("window", ("none: the state is carried",))
    else:
        yield Row("window, tokens", (count(document["seq_len"]),))
        yield Row("stride, tokens", (count(document["stride"]),))
    yield Row("precision of the body", (document["precision"],))


def _known(document: Mapping[str, Any], key: str, written: Callable[[Any], str]) -> Shown:
    """A figure, or the reason that is stored for its absence."""
    return known(document[key], written, document["absent"].get(key))
