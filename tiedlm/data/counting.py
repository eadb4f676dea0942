"""Words, rows, bytes and documents of the original text, and its hash."""

import hashlib
from collections.abc import Iterable

from tiedlm.config.base import Config
from tiedlm.data.config import SPLITS, Split
from tiedlm.data.documents import Row, Text


class SplitCounts(Config):
    """What a split of the original text holds; `words` includes one end of line a row, blank rows too."""

    words: int
    rows: int
    bytes: int
    documents: int


class SplitOverlap(Config):
    """What of a held-out split stands in the train split too, white space aside; documents without a word left out.

    The runs of 8 words are sampled, evenly spaced over the split, and lie within a document each.
    """

    documents: int
    documents_in_train: int
    sampled_8grams: int
    sampled_8grams_in_train: int


class TextCounts(Config):
    """A text in numbers; `sha256` covers every row, and where splits and documents begin.

    `overlap` with the train split is None in what was stored before it was measured.
    """

    sha256: str
    splits: dict[Split, SplitCounts]
    overlap: dict[Split, SplitOverlap] | None = None


def count_text(text: Text) -> TextCounts:
    """Read all of `text` once and count it."""
    digest = hashlib.sha256()
    splits: dict[Split, SplitCounts] = {}
    for split in SPLITS:
        digest.update(f"\0split {split}\0".encode())
        splits[split] = _count_split(text[split], digest)
    return TextCounts(sha256=digest.hexdigest(), splits=splits)


def _count_split(rows: Iterable[Row], digest: "hashlib._Hash") -> SplitCounts:
    num_words = num_rows = num_bytes = num_documents = 0
    for text, starts_document in rows:
        data = text.encode()
        # A row is its length, its kind and its bytes, so that no two texts are spelled alike.
        digest.update(b"%d%c" % (len(data), b"d" if starts_document else b"r"))
        digest.update(data)
        num_words += len(text.split()) + 1
        num_rows += 1
        num_bytes += len(data)
        num_documents += starts_document
    return SplitCounts(words=num_words, rows=num_rows, bytes=num_bytes, documents=num_documents)
