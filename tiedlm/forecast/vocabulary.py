"""How many types a run's model has, as far as it is known before the run. Free of torch."""

from pathlib import Path
from typing import TYPE_CHECKING

from tiedlm.config.base import ConfigError, Problem
from tiedlm.data.config import BpeTokenizer, ByteTokenizer, DataConfig
from tiedlm.errors import RunError
from tiedlm.model.config import ModelConfig

if TYPE_CHECKING:
    from tiedlm.data.prepared import PreparedData


def vocab_size_of(model: ModelConfig, data: DataConfig, cache_dir: Path) -> int:
    """V as the config says it, else of the prepared tokenizer, else as the tokenizer will have it.

    A trained tokenizer may come to fewer types than asked where the text is small. Raises ConfigError.
    """
    size = known_vocab_size(model, data, cache_dir) or asked_vocab_size(data)
    if size is None:
        message = "comes from the text here: run `tiedlm prepare` first, or give it with --set model.vocab_size=..."
        raise ConfigError(Problem("model.vocab_size", message))
    return size


def known_vocab_size(model: ModelConfig, data: DataConfig, cache_dir: Path) -> int | None:
    """V where no text can change it any more: as the config says it, else of the prepared tokenizer, or of bytes."""
    if model.vocab_size is not None:
        return model.vocab_size
    prepared = find_tokens(data, cache_dir)
    if prepared is not None:
        return prepared.vocab_size
    return 257 if isinstance(data.tokenizer, ByteTokenizer) else None


def asked_vocab_size(data: DataConfig) -> int | None:
    """V as a tokenizer that is still to be trained is asked for it; None where the text alone decides."""
    return data.tokenizer.vocab_size if isinstance(data.tokenizer, BpeTokenizer) else None


def find_tokens(data: DataConfig, cache_dir: Path) -> "PreparedData | None":
    """Prepared text, if it is here; where the text itself is not here either, that is none."""
    from tiedlm.data.prepare import find_prepared

    try:
        return find_prepared(data, cache_dir)
    except (ConfigError, RunError):
        return None
