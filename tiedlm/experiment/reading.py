"""From a config file to an experiment: base, variants and seeds, every mistake under the key where it was written."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tiedlm.config import ConfigError, Problem, Raw, merge, parse
from tiedlm.config_file import apply_settings, find_config, read_config
from tiedlm.experiment.config import Experiment, ExperimentKeys, RunConfig, Seed
from tiedlm.model.config import ModelConfig, ShapeConfig

_EXPERIMENT_KEYS = tuple(ExperimentKeys.model_fields)


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
    head = parse(ExperimentKeys, {key: raw[key] for key in _EXPERIMENT_KEYS if key in raw}, source)
    base = {key: value for key, value in raw.items() if key not in _EXPERIMENT_KEYS}
    seeds = _seeds(head, base, source)
    variants = _variants(head, {**base, "seed": seeds[0]}, source, settings or [])
    baseline = _baseline(head, variants, source)
    primary = _primary(head, variants, baseline, source)
    name = next(iter(variants.values())).name
    return Experiment(name, seeds, baseline, variants, primary, head.smallest_worthwhile, head.noise_floor, head.match)


def _seeds(head: ExperimentKeys, base: Raw, source: str) -> tuple[int, ...]:
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


def _variants(head: ExperimentKeys, base: Raw, source: str, settings: list[str]) -> dict[str, RunConfig]:
    if head.variants is None:
        if "variant" not in base:
            base = {**base, "variant": _tying_of(base)}
        only = parse(RunConfig, base, source)
        return {only.variant: only}
    if "variant" in base:
        raise ConfigError(Problem("variant", "belongs to a file without variants"), source=source)
    if base.get("added") is not None:
        raise ConfigError(Problem("added", "is set by the plan: noise_floor or match ask for it"), source=source)
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
    for key in ("name", "seed", "variant", "added", *_EXPERIMENT_KEYS):
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


def _baseline(head: ExperimentKeys, variants: Mapping[str, RunConfig], source: str) -> str:
    if head.baseline is not None and head.baseline not in variants:
        message = f"{head.baseline!r} is not one of the variants: {', '.join(variants)}"
        raise ConfigError(Problem("baseline", message), source=source)
    if head.baseline is not None:
        return head.baseline
    return "untied" if "untied" in variants else next(iter(variants))


def _primary(head: ExperimentKeys, variants: Mapping[str, RunConfig], baseline: str, source: str) -> str | None:
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
