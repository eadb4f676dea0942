"""From a config file to an experiment: base, variants and seeds, every mistake under the key where it was written."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tiedlm.config.base import ConfigError, Problem, Raw, merge, parse
from tiedlm.config.file import apply_settings, read_config
from tiedlm.config.find import find_config
from tiedlm.experiment.config import Experiment, ExperimentKeys
from tiedlm.experiment.grid import axes, check_seeds, holds, laid_over, points, search
from tiedlm.model.config import ModelConfig, ShapeConfig
from tiedlm.run.config import RunConfig, Seed

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
        problem = Problem("", "holds a model alone (no data, no training): it can be counted, not trained")
        raise ConfigError(problem, source=source)
    head = parse(ExperimentKeys, {key: raw[key] for key in _EXPERIMENT_KEYS if key in raw}, source)
    base = {key: value for key, value in raw.items() if key not in _EXPERIMENT_KEYS}
    seeds = _seeds(head, base, source)
    merged = _merged_variants(head, {**base, "seed": seeds[0]}, source, settings or [])
    grid = _grid(head, seeds, settings or [], source) if head.tune else {}
    variants = _configs(head, merged, points(grid)[0], source)
    baseline = _baseline(head, variants, source)
    return Experiment(
        name=next(iter(variants.values())).name,
        seeds=seeds,
        baseline=baseline,
        variants=variants,
        primary=_primary(head, variants, baseline, source),
        smallest_worthwhile=head.smallest_worthwhile,
        noise_floor=head.noise_floor,
        match=head.match,
        search=search(head.tune, grid, merged, source) if head.tune else None,
    )


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


def _merged_variants(head: ExperimentKeys, base: Raw, source: str, settings: list[str]) -> dict[str, Raw]:
    """What the file says of each variant, base and override together, not yet validated."""
    if head.variants is None:
        variant = base.get("variant", _tying_of(base))
        return {str(variant): {**base, "variant": variant}}
    if "variant" in base:
        raise ConfigError(Problem("variant", "belongs to a file without variants"), source=source)
    if base.get("added") is not None:
        raise ConfigError(Problem("added", "is set by the plan: noise_floor or match ask for it"), source=source)
    if not head.variants:
        raise ConfigError(Problem("variants", "must name at least one variant"), source=source)
    of_runs = [item for item in settings if not _is_of_experiment(item)]
    return {
        name: {**apply_settings(merge(base, override), of_runs), "variant": name}
        for name, override in head.variants.items()
    }


def _misplaced_keys(name: str, override: Raw) -> list[Problem]:
    return [
        Problem(f"variants.{name}.{key}", "belongs to the experiment, not to a variant")
        for key in ("name", "seed", "variant", "added", *_EXPERIMENT_KEYS)
        if key in override
    ]


def _grid(head: ExperimentKeys, seeds: Sequence[int], settings: list[str], source: str) -> dict[str, list[Any]]:
    """The values to try of each setting, which nothing else in the file may give. Raises ConfigError."""
    assert head.tune is not None
    check_seeds(head.tune, seeds, source)
    try:
        grid = axes(head.tune.grid)
    except ConfigError as error:
        raise ConfigError(*error.problems, source=source) from None
    of_runs = apply_settings({}, [item for item in settings if not _is_of_experiment(item)])
    given = {f"variants.{name}.": override for name, override in (head.variants or {}).items()} | {"--set ": of_runs}
    problems = [
        Problem(f"{place}{key}", "is tuned: tune.grid gives its values, for all variants alike (tune: null gives none)")
        for place, raw in given.items()
        for key in grid
        if holds(raw, key)
    ]
    if problems:
        raise ConfigError(*problems, source=source)
    return grid


def _same_folders(names: Iterable[str]) -> list[Problem]:
    """Names that a file system without upper and lower case would give one folder."""
    spelled: dict[str, str] = {}
    for name in names:
        spelled.setdefault(name.lower(), name)
    pairs = [(spelled[name.lower()], name) for name in names if spelled[name.lower()] != name]
    return [Problem("variants", f"{one} and {other} differ only in upper and lower case") for one, other in pairs]


def _configs(
    head: ExperimentKeys, merged: Mapping[str, Raw], point: Mapping[str, Any], source: str
) -> dict[str, RunConfig]:
    """Each variant with the settings of a point in it; raises ConfigError, each mistake where it was written."""
    configs: dict[str, RunConfig] = {}
    problems = _same_folders(merged)
    for name, raw in merged.items():
        override = None if head.variants is None else head.variants[name]
        misplaced = _misplaced_keys(name, override or {})
        problems += misplaced
        if misplaced:
            continue
        try:
            config = parse(RunConfig, laid_over(raw, point), beside=_EXPERIMENT_KEYS)
            configs[config.variant] = config
        except ConfigError as error:
            placed = [_placed(problem, name, override, point) for problem in error.problems]
            problems += [problem for problem in placed if problem not in problems]
    if problems:
        raise ConfigError(*problems, source=source)
    return configs


def _is_of_experiment(setting: str) -> bool:
    return re.split(r"[.=]", setting, maxsplit=1)[0].strip() in _EXPERIMENT_KEYS


def _placed(problem: Problem, variant: str, override: Raw | None, point: Mapping[str, Any]) -> Problem:
    """The problem under the key where it was written: in the grid, in the variant or in the base."""
    if any(f"{problem.key}.".startswith(f"{key}.") for key in point):
        return Problem(f"tune.grid.{problem.key}", problem.message)
    if override is None:
        return problem
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
