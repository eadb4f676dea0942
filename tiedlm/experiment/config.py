"""An experiment: a base config, its variants and its seeds; a run: one variant with one seed. Free of torch."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from tiedlm.config import Config, ConfigError, FromList, Name, Positive, Problem, Raw, Whole, check, merge, parse
from tiedlm.config_file import apply_settings, find_config, read_config
from tiedlm.data.config import DataConfig
from tiedlm.evaluation.config import EvaluationConfig
from tiedlm.experiment.significance import SMALLEST_WORTHWHILE
from tiedlm.model.config import ModelConfig, ShapeConfig
from tiedlm.training.config import TrainingConfig

Seed = Annotated[Whole, Field(ge=0, lt=2**32)]
_EXPERIMENT_KEYS = ("seeds", "baseline", "variants", "primary", "smallest_worthwhile")


class RunConfig(Config):
    """One variant with one seed: everything that its run needs."""

    name: Name
    variant: Name
    seed: Seed = 0
    data: DataConfig
    model: ModelConfig
    training: TrainingConfig
    evaluation: EvaluationConfig = EvaluationConfig()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        longest = max(self.data.seq_len, self.evaluation.seq_len or 0)
        limit = self.model.max_seq_len
        check(limit is None or longest <= limit, f"seq_len {longest} is above model.max_seq_len {limit}")
        stride, window = self.evaluation.stride, self.evaluation.seq_len or self.data.seq_len
        check(stride is None or stride <= window, f"evaluation.stride {stride} is above its seq_len {window}")
        return self

    @property
    def max_seq_len(self) -> int:
        """The longest window the model must be able to read."""
        return self.model.max_seq_len or max(self.data.seq_len, self.evaluation.seq_len or 0)


@dataclass(frozen=True)
class Experiment:
    """Variants x seeds. `variants` maps each name to its run config (with the first seed), in the file's order.

    `primary` is the variant whose comparison is not corrected for the others (null: the first beside the baseline),
    `smallest_worthwhile` the difference in nats per token below which two variants count as equal.
    """

    name: str
    seeds: tuple[int, ...]
    baseline: str
    variants: Mapping[str, RunConfig]
    primary: str | None = None
    smallest_worthwhile: float = SMALLEST_WORTHWHILE

    def run_config(self, variant: str, seed: int) -> RunConfig:
        """The config of one run."""
        return self.variants[variant].model_copy(update={"seed": seed})


class _Head(Config):
    """What a file says beside the config of a run."""

    seeds: Annotated[tuple[Seed, ...], FromList] | None = None
    baseline: str | None = None
    variants: dict[str, Raw] | None = None
    primary: str | None = None
    smallest_worthwhile: Positive = SMALLEST_WORTHWHILE


def load_experiment(name: str | Path, settings: list[str] | None = None) -> Experiment:
    """The experiment in a config file; a file without `variants` is an experiment of one.

    `settings` are `dotted.key=value`; they reach every variant, also where a variant says otherwise itself.
    Raises ConfigError.
    """
    path = find_config(name)
    raw = apply_settings(read_config(path), settings or [])
    return experiment_from(raw, source=str(name), settings=settings)


def experiment_from(raw: Raw, source: str = "", settings: list[str] | None = None) -> Experiment:
    """The experiment that a merged mapping describes; raises ConfigError with everything that is wrong."""
    if "model" in raw and not {"data", "training"} & raw.keys():
        raise ConfigError(Problem("", "holds a model alone (no data, no training): it can be counted, not trained"))
    head = parse(_Head, {key: raw[key] for key in _EXPERIMENT_KEYS if key in raw}, source)
    base = {key: value for key, value in raw.items() if key not in _EXPERIMENT_KEYS}
    seeds = _seeds(head, base, source)
    variants = _variants(head, {**base, "seed": seeds[0]}, source, settings or [])
    baseline = _baseline(head, variants, source)
    primary = _primary(head, variants, baseline, source)
    name = next(iter(variants.values())).name
    return Experiment(name, seeds, baseline, variants, primary, head.smallest_worthwhile)


def _seeds(head: _Head, base: Raw, source: str) -> tuple[int, ...]:
    if head.seeds is None:
        try:
            return (TypeAdapter(Seed).validate_python(base.get("seed", 0)),)
        except ValidationError:
            problem = Problem("seed", f"{base['seed']!r}: must be a whole number from 0 to 2^32 - 1")
            raise ConfigError(problem, source=source) from None
    if "seed" in base:
        raise ConfigError(Problem("seed", "give seed or seeds, not both"), source=source)
    if not head.seeds:
        raise ConfigError(Problem("seeds", "must name at least one seed"), source=source)
    repeated = sorted({seed for seed in head.seeds if head.seeds.count(seed) > 1})
    if repeated:
        raise ConfigError(Problem("seeds", f"{repeated[0]} stands there more than once"), source=source)
    return head.seeds


def _variants(head: _Head, base: Raw, source: str, settings: list[str]) -> dict[str, RunConfig]:
    if head.variants is None:
        if "variant" not in base:
            base = {**base, "variant": _tying_of(base)}
        only = parse(RunConfig, base, source)
        return {only.variant: only}
    if "variant" in base:
        raise ConfigError(Problem("variant", "belongs to a file without variants"), source=source)
    if not head.variants:
        raise ConfigError(Problem("variants", "must name at least one variant"), source=source)
    problems = _same_folders(head.variants)
    variants: dict[str, RunConfig] = {}
    for name, override in head.variants.items():
        try:
            variants[name] = _variant(name, override, base, settings)
        except ConfigError as error:
            problems += [problem for problem in error.problems if problem not in problems]
    if problems:
        raise ConfigError(*problems, source=source)
    return variants


def _same_folders(names: Iterable[str]) -> list[Problem]:
    """Names that a file system without upper and lower case would give one folder."""
    spelled: dict[str, str] = {}
    for name in names:
        spelled.setdefault(name.lower(), name)
    pairs = [(spelled[name.lower()], name) for name in names if spelled[name.lower()] != name]
    return [Problem("variants", f"{one} and {other} differ only in upper and lower case") for one, other in pairs]


def _variant(name: str, override: Raw, base: Raw, settings: list[str]) -> RunConfig:
    for key in ("name", "seed", "variant", *_EXPERIMENT_KEYS):
        if key in override:
            raise ConfigError(Problem(f"variants.{name}.{key}", "belongs to the experiment, not to a variant"))
    merged = merge(base, override)
    if settings:
        merged = apply_settings(merged, [item for item in settings if not _is_of_experiment(item)])
    try:
        return parse(RunConfig, {**merged, "variant": name})
    except ConfigError as error:
        raise ConfigError(*(_placed(problem, name, override) for problem in error.problems)) from None


def _is_of_experiment(setting: str) -> bool:
    return re.split(r"[.=]", setting, maxsplit=1)[0].strip() in _EXPERIMENT_KEYS


def _placed(problem: Problem, variant: str, override: Raw) -> Problem:
    """The problem under the key where it was written: in the variant or in the base."""
    if problem.key == "variant":
        return Problem("variants", problem.message)
    inner: Any = override
    for step in problem.key.split("."):
        if not isinstance(inner, dict) or step not in inner:
            return problem if not isinstance(inner, dict) or "type" not in inner else _under(problem, variant)
        inner = inner[step]
    return _under(problem, variant) if problem.key else problem


def _under(problem: Problem, variant: str) -> Problem:
    return Problem(f"variants.{variant}.{problem.key}", problem.message)


def _tying_of(base: Raw) -> str:
    model = base.get("model")
    tying = model.get("tying") if isinstance(model, dict) else None
    name = tying.get("type") if isinstance(tying, dict) else None
    return name if isinstance(name, str) else "tied"  # what is wrong with the type is said of the type


def _baseline(head: _Head, variants: Mapping[str, RunConfig], source: str) -> str:
    if head.baseline is not None and head.baseline not in variants:
        message = f"{head.baseline!r} is not one of the variants: {', '.join(variants)}"
        raise ConfigError(Problem("baseline", message), source=source)
    if head.baseline is not None:
        return head.baseline
    return "untied" if "untied" in variants else next(iter(variants))


def _primary(head: _Head, variants: Mapping[str, RunConfig], baseline: str, source: str) -> str | None:
    if head.primary is not None and head.primary not in variants:
        message = f"{head.primary!r} is not one of the variants: {', '.join(variants)}"
        raise ConfigError(Problem("primary", message), source=source)
    if head.primary == baseline:
        raise ConfigError(Problem("primary", f"{baseline!r} is the baseline: name another variant"), source=source)
    return head.primary


def load_shape(name: str | Path, settings: list[str] | None = None) -> ModelConfig:
    """The model in a file that holds a model alone; raises ConfigError."""
    raw = apply_settings(read_config(find_config(name)), settings or [])
    return parse(ShapeConfig, raw, str(name)).model


def is_shape(name: str | Path) -> bool:
    """Whether a config file holds a model alone."""
    raw = read_config(find_config(name))
    return "model" in raw and not {"data", "training"} & raw.keys()
