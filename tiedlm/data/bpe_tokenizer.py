"""Byte-level BPE of our own, trained and run by the `tokenizers` library."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tiedlm.data.config import BpeTokenizer
from tiedlm.data.documents import Row
from tiedlm.data.encoding_cache import KnownParts
from tiedlm.data.library_tokenizer import LibraryTokenizer
from tiedlm.data.tokenizer import END_OF_TEXT, PIECE_CHARS, Tokens, batches_of, fewer_types, pieces, tokens_of
from tiedlm.data.tokenizer_files import TOKENIZER_JSON
from tiedlm.files import write_atomic

_WORDS = (
    r"'(?:[sdmt]|ll|ve|re)"
    r"| ?\p{L}{1,200}| ?\p{N}{1,200}| ?[^\s\p{L}\p{N}]{1,200}"
    r"|[^\S\n]{0,200}\n|[^\S\n]{1,200}(?!\S)|[^\S\n]{1,200}"
)
"""What merges stay within: as GPT-2 cuts words, but no piece goes on after a newline or is longer than 200 characters:
learning takes time with the square of a piece's length, and a text need not have spaces."""
_LONGEST = 200
_BATCH_CHARS = 1 << 19
"""About how much text is looked up at once, in some 60 bytes a character."""


class Bpe(LibraryTokenizer):
    """Byte-level BPE: any text comes back exactly.

    No merge reaches across a newline, so that the tokens of a row depend on that row alone and a document of any
    length can be encoded piece by piece.
    """

    def __init__(self, tokenizer: Any, notes: Sequence[str] = ()) -> None:
        self._tokenizer = tokenizer
        self._tokenizer.encode_special_tokens = True  # the text may spell <|endoftext|>: it is text
        self.vocab_size: int = tokenizer.get_vocab_size()
        self.end_of_text: int = tokenizer.token_to_id(END_OF_TEXT)
        self.label = f"byte-level BPE, {self.vocab_size:,} types"
        self.notes = list(notes)

    @classmethod
    def train(cls, config: BpeTokenizer, rows: Iterable[Row]) -> "Bpe":
        """Learn merges from `rows`; pairs seen once are not merged, so a small text gives fewer types than asked."""
        from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(_WORDS), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=config.vocab_size,
            min_frequency=2,
            special_tokens=[END_OF_TEXT],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.encode_special_tokens = True
        short = pieces(short_rows(rows), PIECE_CHARS)
        tokenizer.train_from_iterator((piece.text for piece in short), trainer)
        return cls(tokenizer, fewer_types(config.vocab_size, tokenizer.get_vocab_size()))

    @classmethod
    def load(cls, folder: Path) -> "Bpe":
        """What `save` wrote."""
        from tokenizers import Tokenizer

        return cls(Tokenizer.from_str((folder / TOKENIZER_JSON).read_text(encoding="utf-8")))

    def save(self, folder: Path) -> None:
        """As a tokenizer.json."""
        write_atomic(folder / TOKENIZER_JSON, self._tokenizer.to_str())

    def encode_rows(self, rows: Iterable[Row]) -> Iterator[Tokens]:
        """The tokens of each document and an end of text."""
        known = KnownParts(self._encode_each, self.vocab_size)
        for batch in batches_of(pieces(short_rows(rows), PIECE_CHARS), _BATCH_CHARS):
            yield tokens_of(batch, *known.ids([piece.text for piece in batch]), self.end_of_text)

    def words_reason(self, num_lost: int) -> None:
        """None: nothing is lost."""

    def bytes_reason(self, num_lost: int) -> None:
        """None: nothing is lost."""


def short_rows(rows: Iterable[Row]) -> Iterator[Row]:
    """`rows`, a long one in parts that end where no merge reaches across.

    The library takes some 170 bytes a character while it encodes: a row of 50 MB would need 8 GB.
    """
    from tokenizers import Regex, pre_tokenizers

    cut = pre_tokenizers.Split(Regex(_WORDS), behavior="isolated").pre_tokenize_str
    for row in rows:
        text, starts_document = row
        if len(text) <= PIECE_CHARS:
            yield row
            continue
        begin = 0
        while len(text) - begin > PIECE_CHARS:
            words = [word for word, _ in cut(text[begin : begin + PIECE_CHARS])]
            length = sum(map(len, words))
            while PIECE_CHARS - length < 2 * _LONGEST:  # the last ones may go on behind what was looked at
                length -= len(words.pop())
            yield Row(text[begin : begin + length], starts_document and begin == 0)
            begin += length
        yield Row(text[begin:], starts_document and begin == 0)
