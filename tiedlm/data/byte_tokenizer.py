"""Bytes as tokens."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from tiedlm.data.documents import Row
from tiedlm.data.tokenizer import END_OF_TEXT, PIECE_CHARS, Tokens, batches_of, pieces, tokens_of

_BATCH_CHARS = 1 << 18


def byte_names() -> list[str]:
    """A printable character for each byte (Radford et al. 2019): itself where it is one, else one from U+0100 on."""
    shown = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = (value for value in range(256) if value not in shown)
    moved = {value: 256 + place for place, value in enumerate(others)}
    return [chr(moved.get(value, value)) for value in range(256)]


class Bytes:
    """The 256 bytes of UTF-8, and the end of text after each document."""

    vocab_size = 257
    end_of_text = 256
    label = "bytes, 257 types"

    def __init__(self) -> None:
        self.notes: list[str] = []

    def encode_rows(self, rows: Iterable[Row]) -> Iterator[Tokens]:
        """One token a byte."""
        for batch in batches_of(pieces(rows, PIECE_CHARS), _BATCH_CHARS):
            data = [piece.text.encode() for piece in batch]
            ids = np.frombuffer(b"".join(data), np.uint8).astype(np.uint16)
            yield tokens_of(batch, ids, np.array(list(map(len, data))), self.end_of_text)

    def encode(self, text: str) -> list[int]:
        """The bytes of `text`."""
        return list(text.encode())

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the bytes; what is no UTF-8 becomes the replacement character."""
        return bytes(index for index in ids if index != self.end_of_text).decode(errors="replace")

    def spellings(self) -> list[str]:
        """ASCII as it is, the replacement character for the bytes of other characters."""
        return [*(bytes([value]).decode(errors="replace") for value in range(256)), ""]

    def names(self) -> list[str]:
        """Each byte as GPT-2's byte-level alphabet has it, so that it is the same token as in a BPE of bytes."""
        return [*byte_names(), END_OF_TEXT]

    def words_reason(self, num_lost: int) -> None:
        """None: bytes lose nothing."""

    def bytes_reason(self, num_lost: int) -> None:
        """None: bytes lose nothing."""

    def save(self, folder: Path) -> None:
        """Nothing to keep."""
