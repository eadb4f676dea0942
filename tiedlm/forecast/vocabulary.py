"""How many types a run's model will have, as far as that is known before the run. Free of torch."""

from pathlib import Path
from typing import TYPE_CHECKING

from tiedlm.config.base import ConfigError, Problem
from tiedlm.data.config import BpeTokenizer, ByteTokenizer, DataConfig
from tiedlm.errors import RunError
from tiedlm.model.config import ModelConfig

if TYPE_CHECKING:
    from tiedlm.data.prepared import PreparedData


def forecast_vocab_size(model: ModelConfig, data: DataConfig, cache_dir: Path) -> int:
    """V as the config gives it, else that of the prepared tokenizer, else what the tokenizer is to be trained to.

    A tokenizer may come to fewer types than requested where the text is small. Raises ConfigError.
    """
    size = fixed_vocab_size(model, data, cache_dir) or requested_vocab_size(data)
    if size is None:
        message = "comes from the text here: run `tiedlm prepare` first, or give it with --set model.vocab_size=..."
        raise ConfigError(Problem("model.vocab_size", message))
    return size


def fixed_vocab_size(model: ModelConfig, data: DataConfig, cache_dir: Path) -> int | None:
    """V where no text can change it any more: given by the config or the prepared tokenizer, or of bytes."""
    if model.vocab_size is not None:
        return model.vocab_size
    prepared = find_tokens(data, cache_dir)
    if prepared is not None:
        return prepared.vocab_size
    return 257 if isinstance(data.tokenizer, ByteTokenizer) else None


def requested_vocab_size(data: DataConfig) -> int | None:
    """The V that a tokenizer is still to be trained to; None where the text alone decides."""
    return data.tokenizer.vocab_size if isinstance(data.tokenizer, BpeTokenizer) else None


def find_tokens(data: DataConfig, cache_dir: Path) -> "PreparedData | None":
    """The prepared text, where it is in the cache; None also where the text itself is not here."""
    from tiedlm.data.prepare import find_prepared

    try:
        return find_prepared(data, cache_dir)
    except (ConfigError, RunError):
        return None
