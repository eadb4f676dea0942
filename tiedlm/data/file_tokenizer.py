"""Any tokenizer.json, run by the `tokenizers` library."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from tiedlm.config.base import ConfigError, Problem
from tiedlm.data.config import FileTokenizer
from tiedlm.data.documents import Row
from tiedlm.data.library_tokenizer import LibraryTokenizer
from tiedlm.data.tokenizer import Piece, Tokens, batches_of, pieces, tokens_of
from tiedlm.data.tokenizer_files import TOKENIZER_JSON
from tiedlm.files import write_atomic
from tiedlm.paths import reason, user_path

COMMON_ENDS = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<｜end▁of▁sentence｜>", "[SEP]")
"""What well-known tokenizers call the end of text."""
_UNSPELLED = "\x00 end of text \ufdd0"
"""What an end of text is called that a text could spell: white space, a control and no character."""
_LONGEST = 10_000_000
_BATCH_CHARS = 1 << 20
"""About how much text is handed to the library's threads at once."""
_PATH, _END = "data.tokenizer.path", "data.tokenizer.end_of_text"


class TokenizerFile(LibraryTokenizer):
    """A tokenizer that others trained; documents are encoded whole, for its tokens may depend on all around them."""

    def __init__(self, description: bytes, config: FileTokenizer) -> None:
        self._description = description
        tokenizer = _build(description, config)
        raw = json.loads(tokenizer.to_str())
        self.vocab_size: int = tokenizer.get_vocab_size()
        vocabulary: dict[str, int] = tokenizer.get_vocab()
        highest = max(vocabulary.values(), default=-1)
        if highest >= self.vocab_size:
            message = f"{config.path} has {self.vocab_size:,} types, but an id of {highest:,}: ids must have no gaps"
            raise ConfigError(Problem(_PATH, message))
        end = _end_of_text(vocabulary, _unknown(raw["model"]), config)
        self.end_of_text, self._end = vocabulary[end], end
        self.label = f"{Path(config.path).name}, {self.vocab_size:,} types"
        self.notes: list[str] = []
        self._tokenizer = _reading_only_text(raw, end)

    @classmethod
    def read(cls, config: FileTokenizer) -> "TokenizerFile":
        """The tokenizer that `config` names; raises ConfigError."""
        return cls(read_file(config), config)

    @classmethod
    def load(cls, config: FileTokenizer, folder: Path) -> "TokenizerFile":
        """What `save` wrote."""
        return cls((folder / TOKENIZER_JSON).read_bytes(), config)

    def save(self, folder: Path) -> None:
        """The file as it was."""
        write_atomic(folder / TOKENIZER_JSON, self._description)

    def names(self) -> list[str]:
        """As the file has them: the end of text may have another name while text is read."""
        names = super().names()
        names[self.end_of_text] = self._end
        return names

    def encode_rows(self, rows: Iterable[Row]) -> Iterator[Tokens]:
        """The tokens of each document and an end of text; a document that does not decode to itself counts as lost."""
        for batch in batches_of(_bounded(pieces(rows, float("inf"))), _BATCH_CHARS):
            encoded = self._encode_each([piece.text for piece in batch])
            decoded = self._tokenizer.decode_batch(encoded, skip_special_tokens=False)
            num_lost = sum(text != piece.text for piece, text in zip(batch, decoded, strict=True))
            ids = np.fromiter(chain.from_iterable(encoded), np.int64)
            if (ids == self.end_of_text).any():
                message = "this tokenizer makes its end of text of what stands in a document; name another token"
                raise ConfigError(Problem(_END, message))
            yield tokens_of(batch, ids, np.array(list(map(len, encoded))), self.end_of_text, num_lost)

    def words_reason(self, num_lost: int) -> str | None:
        """A document that does not come back was not predicted as it stands."""
        return f"the tokenizer does not bring back {num_lost:,} documents exactly" if num_lost else None

    def bytes_reason(self, num_lost: int) -> str | None:
        """As for words."""
        return self.words_reason(num_lost)


def _bounded(documents: Iterator[Piece]) -> Iterator[Piece]:
    """`documents`; raises ConfigError where one is too long to be encoded whole, in some 170 bytes a character."""
    for document in documents:
        if len(document.text) > _LONGEST:
            message = (
                f"a document has {len(document.text):,} characters, above the {_LONGEST:,} that a tokenizer file reads "
                f"as a whole; see data.corpus.documents, or tokenizer: {{type: bpe}}"
            )
            raise ConfigError(Problem(_PATH, message))
        yield document


def read_file(config: FileTokenizer) -> bytes:
    """The bytes of the file that `config` names; raises ConfigError."""
    path = user_path(config.path, _PATH)
    if path.is_dir():
        inside = path / TOKENIZER_JSON
        way_out = (
            f"give the file in it: {inside}"
            if inside.is_file()
            else f"there is no {TOKENIZER_JSON} in it; give such a file"
        )
        raise ConfigError(Problem(_PATH, f"{path} is a folder; {way_out}"))
    try:
        if path.exists() and not path.is_file():  # a pipe or a device, which might never end
            raise ConfigError(Problem(_PATH, f"{path} is no ordinary file"))
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(Problem(_PATH, f"{path} cannot be read: {reason(error, path)}")) from None


def _build(description: bytes, config: FileTokenizer) -> Any:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_buffer(description)
    except Exception as error:  # noqa: BLE001 (the library raises plain Exception)
        raise ConfigError(Problem(_PATH, f"{config.path} is not a tokenizer.json: {error}")) from None


def _unknown(model: dict[str, Any]) -> str | None:
    """The token that a model gives to text it does not know; BPE of bytes may name one, and knows all text."""
    if model["type"] == "Unigram":
        return None if model.get("unk_id") is None else model["vocab"][model["unk_id"]][0]
    return None if model["type"] == "BPE" else model.get("unk_token")


def _end_of_text(vocabulary: dict[str, int], unknown: str | None, config: FileTokenizer) -> str:
    if config.end_of_text is not None:
        if config.end_of_text not in vocabulary:
            raise ConfigError(Problem(_END, f"{config.end_of_text!r} is not a token of {config.path}"))
        if config.end_of_text == unknown:
            message = (
                f"{unknown!r} of {config.path} stands for unknown text; choose another token, which no text becomes"
            )
            raise ConfigError(Problem(_END, message))
        return config.end_of_text
    found = next((name for name in COMMON_ENDS if name in vocabulary and name != unknown), None)
    if found is None:
        names = ", ".join(COMMON_ENDS)
        raise ConfigError(Problem(_END, f"say which token ends a text: {config.path} has none of {names}"))
    return found


def _reading_only_text(raw: dict[str, Any], end: str) -> Any:
    """The tokenizer of a file as a plain map from text: nothing cut or padded, and special strings in a text are text.

    Only tokens that are marked special can be kept out of text, so the end of text is marked, whatever the file says.
    A model that has it in its own vocabulary would still find it in a text that spells it: there it has another name.
    """
    from tokenizers import AddedToken, Tokenizer

    name = _rename(raw["model"], end)
    for token in raw["added_tokens"]:
        if token["content"] == end:
            token |= {"special": True, "content": name}
    raw["truncation"] = raw["padding"] = None
    plain = Tokenizer.from_str(json.dumps(raw))
    plain.add_special_tokens([AddedToken(name, special=True)])
    plain.encode_special_tokens = True
    return plain


def _rename(model: dict[str, Any], end: str) -> str:
    """What the token `end` is called from now on; it keeps its id."""
    vocabulary = model["vocab"]
    if model["type"] == "Unigram":
        model["vocab"] = [[_UNSPELLED if piece == end else piece, score] for piece, score in vocabulary]
        return _UNSPELLED if any(piece == end for piece, _ in vocabulary) else end
    if model["type"] == "BPE" or end not in vocabulary:  # BPE makes its tokens by merges, which none makes
        return end
    model["vocab"] = {_UNSPELLED if word == end else word: index for word, index in vocabulary.items()}
    return _UNSPELLED
