"""What tokenizers of the `tokenizers` library have in common."""

from collections.abc import Sequence
from typing import Any


class LibraryTokenizer:
    """A tokenizer of the library that takes special strings in a text for text."""

    _tokenizer: Any

    def _encode_each(self, texts: list[str]) -> list[list[int]]:
        """The tokens of each text alone, by the library's threads, in some 170 bytes a character."""
        return [found.ids for found in self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    def encode(self, text: str) -> list[int]:
        """The tokens of `text`, nothing added."""
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`; special tokens, ends of text among them, are left out."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=True)
        return text

    def names(self) -> list[str]:
        """The tokens of the vocabulary as it writes them."""
        return [self._tokenizer.id_to_token(index) for index in range(self._tokenizer.get_vocab_size())]

    def spellings(self) -> list[str] | None:
        """What each id adds behind a letter, (V,); None where the text so far does not stay as it was.

        Bytes that are no whole character are the replacement character.
        """
        letter = self.encode("a")
        before: str = self._tokenizer.decode(letter)
        follow = [[*letter, index] for index in range(self._tokenizer.get_vocab_size())]
        after: list[str] = self._tokenizer.decode_batch(follow)
        if not before.endswith("a") or not all(text.startswith(before) for text in after):
            return None
        return [text.removeprefix(before) for text in after]
