"""From rows of text to token ids and back: what every tokenizer can do."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tiedlm.data.documents import Row

Ids = npt.NDArray[np.integer]
END_OF_TEXT = "<|endoftext|>"
"""The name of the end of text in tokenizers of our own."""
PIECE_CHARS = 10_000
"""About how much text is encoded at once where a row's tokens do not depend on its neighbours."""


class Piece(NamedTuple):
    """Consecutive rows of one document."""

    text: str
    starts_document: bool
    ends_document: bool


class Tokens(NamedTuple):
    """The tokens of pieces; documents begin at `starts`; `num_lost` counts what decoding does not bring back."""

    ids: Ids
    starts: Sequence[int]
    num_lost: int = 0


class Tokenizer(Protocol):
    """Text to ids and back. Nothing that stands in a document becomes the end-of-text id."""

    vocab_size: int
    end_of_text: int
    label: str
    notes: list[str]

    def encode_rows(self, rows: Iterable[Row]) -> Iterator[Tokens]:
        """The token stream of a split, its ends of text included."""

    def encode(self, text: str) -> list[int]:
        """The ids of a text alone, with no end of text after it."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`."""

    def spellings(self) -> list[str] | None:
        """What each id adds to a text that ends in a letter, (V,): "" for what is no text. None where it cannot say."""

    def names(self) -> list[str]:
        """What each id is called, (V,), no two alike; bytes of a token as byte-level BPE writes them."""

    def words_reason(self, num_lost: int) -> str | None:
        """Why a figure per word would not be one of the original text, `num_lost` added up over a split."""

    def bytes_reason(self, num_lost: int) -> str | None:
        """Why a figure per byte would not be one of the original text."""

    def save(self, folder: Path) -> None:
        """Write what makes this tokenizer again."""


def fewer_types(asked: int | None, got: int) -> list[str]:
    """The note that a text had fewer types than asked for, if so."""
    return [f"asked for {asked:,} types, the text gave {got:,}"] if asked is not None and got < asked else []


def tokens_of(batch: Sequence[Piece], ids: Ids, lengths: Ids, end_of_text: int, num_lost: int = 0) -> Tokens:
    """The tokens `ids` of pieces, each so many of them as `lengths` say, and an end of text behind each document."""
    after = np.cumsum(lengths)
    ends = np.array([piece.ends_document for piece in batch])
    places = after + np.cumsum(ends)
    starts = np.append(0, places[:-1])[[piece.starts_document for piece in batch]]
    return Tokens(np.insert(ids, after[ends], end_of_text), starts.tolist(), num_lost)


def batches_of(stream: Iterator[Piece], batch_chars: int) -> Iterator[list[Piece]]:
    """A stream of pieces in lists of about as much text."""
    batch, num_chars = list[Piece](), 0
    for piece in stream:
        batch.append(piece)
        num_chars += len(piece.text)
        if num_chars >= batch_chars:
            yield batch
            batch, num_chars = [], 0
    if batch:
        yield batch


def pieces(rows: Iterable[Row], max_chars: float) -> Iterator[Piece]:
    """`rows` joined to pieces of about `max_chars` (at least one row, at most one document)."""
    held: list[str] = []
    held_chars, starts = 0, True
    for text, starts_document in rows:
        if held and (starts_document or held_chars + len(text) > max_chars):
            yield Piece("".join(held), starts, ends_document=starts_document)
            held, held_chars, starts = [], 0, starts_document
        held.append(text)
        held_chars += len(text)
    if held:
        yield Piece("".join(held), starts, ends_document=True)
