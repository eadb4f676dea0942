"""The files that tokenizers are saved in. Free of torch, numpy and the `tokenizers` library."""

from tiedlm.data.config import BpeTokenizer, ByteTokenizer, FileTokenizer, WordTokenizer
from tiedlm.data.config import Tokenizer as TokenizerConfig

TOKENIZER_JSON = "tokenizer.json"
WORDS = "words.txt"
TOKENIZER_FILES = (TOKENIZER_JSON, WORDS)
"""Every name that a tokenizer may save a file under."""


def tokenizer_files(config: TokenizerConfig) -> tuple[str, ...]:
    """The names of the files that the tokenizer of a config is made of; none where it needs none."""
    match config:
        case BpeTokenizer() | FileTokenizer():
            return (TOKENIZER_JSON,)
        case WordTokenizer():
            return (WORDS,)
        case ByteTokenizer():
            return ()
