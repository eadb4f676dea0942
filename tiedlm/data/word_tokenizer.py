"""White-space words as tokens, as the word-level literature has them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from tiedlm.data.config import WordTokenizer
from tiedlm.data.documents import Row
from tiedlm.data.tokenizer import PIECE_CHARS, Tokens, fewer_types, pieces
from tiedlm.data.tokenizer_files import WORDS
from tiedlm.files import write_atomic


class Words:
    """White-space words and one <eos> a row, so that tokens are the words that the literature counts.

    Types: <eos>, <unk>, then `words` from the most frequent on. The word `<unk>`, where the text has it, is that same
    type; a word that reads `<eos>` is a type of its own.
    """

    END_OF_ROW, UNKNOWN = 0, 1

    def __init__(self, words: Sequence[str], notes: Sequence[str] = ()) -> None:
        self.vocab_size = 2 + len(words)
        self.end_of_text = self.END_OF_ROW
        self.label = f"words, {self.vocab_size:,} types"
        self.notes = list(notes)
        self._words = ["<eos>", "<unk>", *words]
        self._ids = {word: index for index, word in enumerate(words, start=2)} | {"<unk>": self.UNKNOWN}

    @classmethod
    def train(cls, config: WordTokenizer, rows: Iterable[Row]) -> "Words":
        """Count the words of `rows` and keep what `config` asks for: by count, then by spelling."""
        counts = Counter(chain.from_iterable(row.text.split() for row in rows))
        counts.pop("<unk>", None)
        kept = sorted((-count, word) for word, count in counts.items() if count >= config.min_count)
        limit = len(kept) if config.vocab_size is None else config.vocab_size - 2
        words = cls([word for _, word in kept[:limit]])
        words.notes += fewer_types(config.vocab_size, words.vocab_size)
        return words

    @classmethod
    def load(cls, folder: Path) -> "Words":
        """What `save` wrote."""
        return cls((folder / WORDS).read_bytes().decode().split("\n")[2:-1])

    def save(self, folder: Path) -> None:
        """One word a line, the line's number (from 0) its id."""
        write_atomic(folder / WORDS, "".join(f"{word}\n" for word in self._words))

    def encode_rows(self, rows: Iterable[Row]) -> Iterator[Tokens]:
        """The words of each row and <eos>."""
        for piece in pieces(rows, PIECE_CHARS):
            found = np.array(self._lookup(piece.text), np.int64)
            unknown = found < 0
            found[unknown] = self.UNKNOWN
            yield Tokens(found, [0] if piece.starts_document else [], int(unknown.sum()))

    def _lookup(self, text: str) -> list[int]:
        """Ids of `text`; -1 for a word that is not in the vocabulary."""
        get, ids = self._ids.get, list[int]()
        for line in text.split("\n"):
            ids += [get(word, -1) for word in line.split()]
            ids.append(self.END_OF_ROW)
        return ids[:-1]

    def encode(self, text: str) -> list[int]:
        """The words of `text`, and <eos> for each newline."""
        return [self.UNKNOWN if index < 0 else index for index in self._lookup(text)]

    def decode(self, ids: Sequence[int]) -> str:
        """Words with one space between them, and a newline for <eos>."""
        spelled = ("\n" if index == self.END_OF_ROW else self._words[index] for index in ids)
        return " ".join(spelled).replace(" \n", "\n").replace("\n ", "\n")

    def spellings(self) -> list[str]:
        """The words with the space that stands before them."""
        return ["", "", *(f" {word}" for word in self._words[2:])]

    def names(self) -> list[str]:
        """The words; <eos> is a newline, for a word may read <eos>."""
        return ["\n", *self._words[1:]]

    def words_reason(self, num_lost: int) -> str | None:
        """Words outside the vocabulary were not predicted as themselves."""
        return f"{num_lost:,} words outside the vocabulary were read as <unk>" if num_lost else None

    def bytes_reason(self, num_lost: int) -> str:
        """White space is not predicted."""
        return "words carry no white space"
