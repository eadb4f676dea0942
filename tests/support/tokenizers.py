"""Tokenizers trained on a few documents."""

from typing import Any

from tiedlm.config.base import parse
from tiedlm.data.build_tokenizer import train_tokenizer
from tiedlm.data.config import DataConfig
from tiedlm.data.documents import Row, rows_of
from tiedlm.data.tokenizer import Tokenizer

DOCUMENTS = [
    "the cat sat on the mat\nand the dog sat on the log\n",
    "a <|endoftext|> in the text, <unk> and <eos> too\n\n\n   four  spaces \n",
    "NUL \x00, emoji 😀👩‍👩‍👧, ē é e\u0301, a CR \r inside, \x85 and \u2028 and \ufeff\n \n\t\n",
]


ROWS = [row for document in DOCUMENTS for row in rows_of(document)]


def trained(config: dict[str, Any], rows: list[Row] = ROWS) -> Tokenizer:
    return train_tokenizer(tokenizer_config(config), rows)


def tokenizer_config(config: dict[str, Any]) -> Any:
    return parse(DataConfig, {"corpus": {"type": "python-docs"}, "tokenizer": config, "seq_len": 8}).tokenizer
