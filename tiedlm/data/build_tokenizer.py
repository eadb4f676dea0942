"""Which class answers to which tokenizer config."""

import hashlib
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from tiedlm.data.bpe_tokenizer import Bpe
from tiedlm.data.byte_tokenizer import Bytes
from tiedlm.data.config import BpeTokenizer, ByteTokenizer, FileTokenizer, WordTokenizer
from tiedlm.data.config import Tokenizer as TokenizerConfig
from tiedlm.data.documents import Row
from tiedlm.data.file_tokenizer import TokenizerFile, read_file
from tiedlm.data.identity import sha256_of
from tiedlm.data.tokenizer import Tokenizer
from tiedlm.data.tokenizer_files import tokenizer_files
from tiedlm.data.word_tokenizer import Words


def train_tokenizer(config: TokenizerConfig, rows: Iterable[Row]) -> Tokenizer:
    """The tokenizer that `config` asks for, learned from the `rows` of the train split where it learns."""
    match config:
        case BpeTokenizer():
            return Bpe.train(config, rows)
        case WordTokenizer():
            return Words.train(config, rows)
        case ByteTokenizer():
            return Bytes()
        case FileTokenizer():
            return TokenizerFile.read(config)


def load_tokenizer(config: TokenizerConfig, folder: Path) -> Tokenizer:
    """The tokenizer that was saved in `folder`."""
    match config:
        case BpeTokenizer():
            return Bpe.load(folder)
        case WordTokenizer():
            return Words.load(folder)
        case ByteTokenizer():
            return Bytes()
        case FileTokenizer():
            return TokenizerFile.load(config, folder)


def tokenizer_identity(config: TokenizerConfig) -> dict[str, object]:
    """Everything beside the text that determines a tokenizer: its config, the file it names, the library's version."""
    identity: dict[str, object] = config.model_dump()
    if isinstance(config, FileTokenizer):
        description = read_file(config)
        identity["path"] = hashlib.sha256(description).hexdigest()
        if any(name in description for name in (b'"WordLevel"', b'"Unigram"')):
            identity["end_of_text_in_documents"] = False  # tokens made when it could be are not used
    if isinstance(config, BpeTokenizer | FileTokenizer):
        identity["library"] = version("tokenizers")
    return identity


def saved_tokenizer_identity(config: TokenizerConfig, folder: Path) -> dict[str, object]:
    """The same for a tokenizer that was saved in `folder`: what it was learned from is of no account any more."""
    identity: dict[str, object] = {"type": config.type}
    identity |= {name: sha256_of(folder / name) for name in tokenizer_files(config)}
    if isinstance(config, FileTokenizer):
        identity["end_of_text"] = config.end_of_text
    if isinstance(config, BpeTokenizer | FileTokenizer):
        identity["library"] = version("tokenizers")
    return identity
