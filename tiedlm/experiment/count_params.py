"""Exact parameter counts of configs, from models that are built without memory for their values.

Free of torch until all configs are read: a mistake in one is told at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiedlm.config.base import ConfigError, Problem
from tiedlm.experiment.match import with_matches
from tiedlm.experiment.reading import is_shape, load_experiment, load_shape
from tiedlm.forecast.counts import count_model
from tiedlm.forecast.footprint import Footprint
from tiedlm.forecast.vocabulary import vocab_size_of
from tiedlm.model.config import ModelConfig
from tiedlm.model.counts import ParameterCounts
from tiedlm.run.config import RunConfig
from tiedlm.training.config import TrainingConfig
from tiedlm.tying.config import EmbeddingConfig, TiedConfig, UntiedConfig

SHAPE_SEQ_LEN = 1024
"""The context at which the FLOPs of a model alone are counted, if it can see as much."""


SHAPE_RECIPE = TrainingConfig(steps=1, batch_size=1, learning_rate=1e-3)
"""How a model alone is taken to be trained: AdamW, one window at a time."""


@dataclass(frozen=True)
class Counted:
    """What one model comes to, and at which context its FLOPs were counted."""

    name: str
    tying: str
    seq_len: int
    counts: ParameterCounts
    footprint: Footprint | None = None

    def document(self) -> dict[str, Any]:
        """Its part of the JSON of `count-params`."""
        document = {"name": self.name, "tying": self.tying, "seq_len": self.seq_len, **self.counts.model_dump()}
        if self.footprint is None:
            return document
        footprint = self.footprint.model_dump(mode="json")
        return {**document, "memory": {"predicted_peak_bytes": footprint.pop("peak_bytes"), **footprint}}


def count_configs(
    names: Sequence[str], settings: list[str], cache_dir: Path, *, memory: bool = False, device: str | None = None
) -> list[Counted]:
    """Of an experiment each variant, of one run or of a model alone both it tied and it untied. Raises ConfigError.

    With `memory` that of a training step is predicted too, on `device` or else on the config's; of a model alone a
    step of `SHAPE_RECIPE`.
    """
    if device not in (None, "auto", "cpu", "cuda"):
        raise ConfigError(Problem("--device", f"{device!r} is not one of auto, cpu, cuda"))
    foresight = _Foresight(device, cache_dir) if memory else None
    asked = [model for name in names for model in _read(name, settings, cache_dir, several=len(names) > 1)]
    return [model.counted(foresight) for model in asked]


def both_ways(model: ModelConfig) -> Iterator[ModelConfig]:
    """A model tied and untied, and as it is if it is neither; what the strategies have in common stays."""
    for kind in dict.fromkeys((TiedConfig, type(model.tying), UntiedConfig)):
        common = {name: getattr(model.tying, name) for name in EmbeddingConfig.model_fields}
        tying = model.tying if isinstance(model.tying, kind) else kind(**common)
        yield model.model_copy(update={"tying": tying})


@dataclass(frozen=True)
class _Asked:
    """A model to count, and how it is taken to be trained."""

    name: str
    model: ModelConfig
    training: TrainingConfig
    vocab_size: int
    seq_len: int
    max_seq_len: int

    def counted(self, foresight: "_Foresight | None") -> Counted:
        """What it comes to."""
        counts = count_model(self.model, self.vocab_size, self.max_seq_len, self.seq_len)
        footprint = foresight.of(self) if foresight else None
        return Counted(self.name, self.model.tying.type, self.seq_len, counts, footprint)


def _read(name: str, settings: list[str], cache_dir: Path, *, several: bool) -> Iterator[_Asked]:
    if is_shape(name):
        yield from _read_shape(name, settings)
        return
    experiment = with_matches(load_experiment(name, settings), lambda run: _count_run(run, cache_dir))
    runs: Mapping[str, RunConfig] = experiment.variants
    if len(runs) == 1:
        (run,) = runs.values()
        runs = {model.tying.type: run.model_copy(update={"model": model}) for model in both_ways(run.model)}
    for variant, run in runs.items():
        label = f"{_short(name)}/{variant}" if several else variant
        vocab_size = vocab_size_of(run.model, run.data, cache_dir)
        yield _Asked(label, run.model, run.training, vocab_size, run.data.seq_len, run.max_seq_len)


def _count_run(run: RunConfig, cache_dir: Path) -> ParameterCounts:
    vocab_size = vocab_size_of(run.model, run.data, cache_dir)
    return count_model(run.model, vocab_size, run.max_seq_len, run.data.seq_len)


def _short(name: str) -> str:
    return Path(name).name.removesuffix(".yaml")


def _read_shape(name: str, settings: list[str]) -> Iterator[_Asked]:
    shape = load_shape(name, settings)
    if shape.vocab_size is None:
        raise ConfigError(Problem("model.vocab_size", "is required of a model alone"), source=name)
    longest = shape.max_seq_len or SHAPE_SEQ_LEN
    seq_len = min(longest, SHAPE_SEQ_LEN)
    for model in both_ways(shape):
        label = f"{_short(name)}/{model.tying.type}"
        yield _Asked(label, model, SHAPE_RECIPE, shape.vocab_size, seq_len, longest)


@dataclass(frozen=True)
class _Foresight:
    """Where steps are to be predicted, and where predictions are kept."""

    device: str | None
    cache_dir: Path

    def of(self, asked: _Asked) -> Footprint:
        """The memory of a training step."""
        from tiedlm.forecast.stored_memory import likely_target, predict

        changes = {} if self.device is None else {"device": self.device}
        training = asked.training.model_copy(update=changes)
        sizes = asked.vocab_size, asked.seq_len, asked.max_seq_len
        return predict(asked.model, training, likely_target(training), *sizes, self.cache_dir)
