"""Exact parameter counts of configs, from models that are built without memory for their values.

Free of torch until all configs are read: a mistake in one is told at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiedlm.config.base import ConfigError, Problem
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.match import with_matches
from tiedlm.experiment.parts import Parts, load_plan
from tiedlm.experiment.reading import ConfigSource, is_shape, load_experiment, load_shape
from tiedlm.forecast.counts import count_model
from tiedlm.forecast.footprint import Footprint
from tiedlm.forecast.vocabulary import forecast_vocab_size
from tiedlm.model.config import ModelConfig
from tiedlm.model.counts import ParameterCounts
from tiedlm.run.config import RunConfig
from tiedlm.training.config import TrainingConfig, gpu_hint
from tiedlm.tying.config import EmbeddingConfig, TiedConfig, UntiedConfig

SHAPE_SEQ_LEN = 1024
"""The context at which the FLOPs of a model alone are counted, unless its own is shorter."""
SHAPE_RECIPE = TrainingConfig(steps=1, batch_size=1, learning_rate=1e-3)
"""The recipe for the memory of a model alone: AdamW, one window at a time."""


@dataclass(frozen=True)
class Counted:
    """The counts of one model, and the context at which its FLOPs were counted."""

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
    configs: Sequence[ConfigSource],
    settings: Sequence[str],
    cache_dir: Path,
    *,
    memory: bool = False,
    device: str | None = None,
) -> list[Counted]:
    """Of an experiment each variant, of one run or of a model alone both it tied and it untied. Raises ConfigError.

    With `memory` also the memory of a training step, on `device` or else on the config's; of a model alone that of a
    step of `SHAPE_RECIPE`.
    """
    if device not in (None, "auto", "cpu", "cuda"):
        raise ConfigError(Problem("--device", f"{device!r} is not one of auto, cpu, cuda{gpu_hint(device)}"))
    models = [model for config in configs for model in _read(config, settings, cache_dir, several=len(configs) > 1)]
    return [model.counted(model.footprint(device, cache_dir) if memory else None) for model in models]


def both_ways(model: ModelConfig) -> Iterator[ModelConfig]:
    """A model tied and untied, and as it is if it is neither; settings that all strategies have stay the same."""
    for kind in dict.fromkeys((TiedConfig, type(model.tying), UntiedConfig)):
        common = {name: getattr(model.tying, name) for name in EmbeddingConfig.model_fields}
        tying = model.tying if isinstance(model.tying, kind) else kind(**common)
        yield model.model_copy(update={"tying": tying})


@dataclass(frozen=True)
class _Model:
    """A model to count, and how it is taken to be trained."""

    name: str
    model: ModelConfig
    training: TrainingConfig
    vocab_size: int
    seq_len: int
    max_seq_len: int

    def counted(self, footprint: Footprint | None) -> Counted:
        """Its counts."""
        counts = count_model(self.model, self.vocab_size, self.max_seq_len, self.seq_len)
        return Counted(self.name, self.model.tying.type, self.seq_len, counts, footprint)

    def footprint(self, device: str | None, cache_dir: Path) -> Footprint:
        """The memory of a training step on `device`, or on that of its recipe."""
        from tiedlm.forecast.memory_cache import forecast_step, target_of

        changes = {} if device is None else {"device": device}
        training = self.training.model_copy(update=changes)
        sizes = self.vocab_size, self.seq_len, self.max_seq_len
        return forecast_step(self.model, training, target_of(training), *sizes, cache_dir)


def _read(config: ConfigSource, settings: Sequence[str], cache_dir: Path, several: bool) -> Iterator[_Model]:
    if is_shape(config):
        yield from _read_shape(config, settings)
        return
    experiment = with_matches(load_experiment(config, settings), lambda run: _count_run(run, cache_dir))
    runs: Mapping[str, RunConfig] = experiment.variants
    if len(runs) == 1:
        (run,) = runs.values()
        runs = {model.tying.type: run.model_copy(update={"model": model}) for model in both_ways(run.model)}
    sized_by_parts = _sized_by_parts(load_plan(config, settings), runs, cache_dir)
    for variant, run in {**runs, **sized_by_parts}.items():
        label = f"{_short(config)}/{variant}" if several else variant
        vocab_size = forecast_vocab_size(run.model, run.data, cache_dir)
        yield _Model(label, run.model, run.training, vocab_size, run.data.seq_len, run.max_seq_len)


def _sized_by_parts(
    loaded: Experiment | Parts, plain: Mapping[str, RunConfig], cache_dir: Path
) -> dict[str, RunConfig]:
    """The variants that a recipe makes of another size, "recipe variant", beside those without it."""
    if isinstance(loaded, Experiment) or not loaded.are_recipes:  # the length of training is no size
        return {}
    return {
        f"{part.name} {variant}": run
        for part in loaded.parts
        for variant, run in part.experiment.variants.items()
        if _count_run(run, cache_dir) != _count_run(plain[variant], cache_dir)
    }


def _count_run(run: RunConfig, cache_dir: Path) -> ParameterCounts:
    vocab_size = forecast_vocab_size(run.model, run.data, cache_dir)
    return count_model(run.model, vocab_size, run.max_seq_len, run.data.seq_len)


def _short(config: ConfigSource) -> str:
    """How a config is named before its variants: a file by its name, a mapping by its `name`."""
    name = config.get("name", "model") if isinstance(config, Mapping) else Path(config).name
    return str(name).removesuffix(".yaml")


def _read_shape(config: ConfigSource, settings: Sequence[str]) -> Iterator[_Model]:
    shape = load_shape(config, settings)
    if shape.vocab_size is None:
        source = "" if isinstance(config, Mapping) else str(config)
        raise ConfigError(Problem("model.vocab_size", "is required of a model alone"), source=source)
    longest = shape.max_seq_len or SHAPE_SEQ_LEN
    seq_len = min(longest, SHAPE_SEQ_LEN)
    for model in both_ways(shape):
        label = f"{_short(config)}/{model.tying.type}"
        yield _Model(label, model, SHAPE_RECIPE, shape.vocab_size, seq_len, longest)
