"""Exact parameter counts of configs, from models that are built without memory for their values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from tiedlm.config import ConfigError, Problem
from tiedlm.data.config import BpeTokenizer, ByteTokenizer, DataConfig
from tiedlm.data.prepare import PreparedData, find_prepared
from tiedlm.errors import RunError
from tiedlm.experiment.config import RunConfig, is_shape, load_experiment, load_shape
from tiedlm.model.config import ModelConfig
from tiedlm.model.counts import ParameterCounts
from tiedlm.model.language_model import build_model
from tiedlm.model.parameters import count_parameters
from tiedlm.tying.config import EmbeddingConfig, TiedConfig, UntiedConfig

SHAPE_SEQ_LEN = 1024
"""The context at which the FLOPs of a model alone are counted, if it can see as much."""


@dataclass(frozen=True)
class Counted:
    """What one model comes to, and at which context its FLOPs were counted."""

    name: str
    tying: str
    seq_len: int
    counts: ParameterCounts

    def document(self) -> dict[str, Any]:
        """Its part of the JSON of `count-params`."""
        return {"name": self.name, "tying": self.tying, "seq_len": self.seq_len, **self.counts.model_dump()}


def count_configs(names: Sequence[str], settings: list[str], cache_dir: Path) -> list[Counted]:
    """Of an experiment each variant, of one run or of a model alone both it tied and it untied. Raises ConfigError."""
    several = len(names) > 1
    return [counted for name in names for counted in _count_config(name, settings, cache_dir, several)]


def count_model(model: ModelConfig, vocab_size: int, max_seq_len: int, seq_len: int) -> ParameterCounts:
    """Count without allocating."""
    with torch.device("meta"):
        return count_parameters(build_model(model, vocab_size, max_seq_len), seq_len)


def vocab_size_of(model: ModelConfig, data: DataConfig, cache_dir: Path) -> int:
    """V as the config says it, else of the prepared tokenizer, else as the tokenizer will have it.

    A trained tokenizer may come to fewer types than asked where the text is small. Raises ConfigError.
    """
    if model.vocab_size is not None:
        return model.vocab_size
    prepared = find_tokens(data, cache_dir)
    if prepared is not None:
        return prepared.vocab_size
    match data.tokenizer:
        case BpeTokenizer(vocab_size=asked):
            return asked
        case ByteTokenizer():
            return 257
    message = "comes from the text here: run `tiedlm prepare` first, or give it with --set model.vocab_size=..."
    raise ConfigError(Problem("model.vocab_size", message))


def find_tokens(data: DataConfig, cache_dir: Path) -> PreparedData | None:
    """Prepared text, if it is here; where the text itself is not here either, that is none."""
    try:
        return find_prepared(data, cache_dir)
    except (ConfigError, RunError):
        return None


def both_ways(model: ModelConfig) -> Iterator[ModelConfig]:
    """A model tied and untied; what the two strategies have in common stays as it is."""
    for kind in (TiedConfig, UntiedConfig):
        common = {name: getattr(model.tying, name) for name in EmbeddingConfig.model_fields}
        tying = model.tying if isinstance(model.tying, kind) else kind(**common)
        yield model.model_copy(update={"tying": tying})


def _count_config(name: str, settings: list[str], cache_dir: Path, several: bool) -> Iterator[Counted]:
    if is_shape(name):
        yield from _count_shape(name, settings)
        return
    experiment = load_experiment(name, settings)
    runs: Mapping[str, RunConfig] = experiment.variants
    if len(runs) == 1:
        (run,) = runs.values()
        runs = {model.tying.type: run.model_copy(update={"model": model}) for model in both_ways(run.model)}
    for variant, run in runs.items():
        vocab_size = vocab_size_of(run.model, run.data, cache_dir)
        counts = count_model(run.model, vocab_size, run.max_seq_len, run.data.seq_len)
        label = f"{_short(name)}/{variant}" if several else variant
        yield Counted(label, run.model.tying.type, run.data.seq_len, counts)


def _short(name: str) -> str:
    return Path(name).name.removesuffix(".yaml")


def _count_shape(name: str, settings: list[str]) -> Iterator[Counted]:
    shape = load_shape(name, settings)
    if shape.vocab_size is None:
        raise ConfigError(Problem("model.vocab_size", "is required of a model alone"), source=name)
    longest = shape.max_seq_len or SHAPE_SEQ_LEN
    for model in both_ways(shape):
        counts = count_model(model, shape.vocab_size, longest, min(longest, SHAPE_SEQ_LEN))
        yield Counted(f"{_short(name)}/{model.tying.type}", model.tying.type, min(longest, SHAPE_SEQ_LEN), counts)
