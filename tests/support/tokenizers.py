"""Tokenizers trained on a few documents."""

from pathlib import Path
from typing import Any

from tokenizers import AddedToken, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as Library

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


def stream(tokenizer: Tokenizer, rows: list[Row] = ROWS) -> list[int]:
    """All ids of a split."""
    return [int(index) for tokens in tokenizer.encode_rows(rows) for index in tokens.ids]


def library_file(folder: Path, end: str | None = "<|endoftext|>", special: bool = True) -> Path:
    """A tokenizer.json: byte-level BPE, told to cut and to pad what it reads."""
    tokenizer = Library(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=280, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(DOCUMENTS[:1], trainer)
    if end:
        tokenizer.add_tokens([AddedToken(end, special=special)])
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=50)
    path = folder / "tokenizer.json"
    tokenizer.save(str(path))
    return path
