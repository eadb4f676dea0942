"""From a config file to an experiment: base, variants and seeds. Free of torch."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tiedlm.config.base import ConfigError, Problem, Raw, merge, parse
from tiedlm.config.file import apply_settings, read_config
from tiedlm.config.find import find_config
from tiedlm.config.written import written_in
from tiedlm.experiment.baseline import default_baseline
from tiedlm.experiment.candidates import Tried, check_seeds
from tiedlm.experiment.config import EXPERIMENT_KEYS, Experiment, ExperimentKeys
from tiedlm.experiment.grid import holds
from tiedlm.experiment.overrides import with_settings
from tiedlm.experiment.variant import WrittenVariant
from tiedlm.model.config import ModelConfig, ShapeConfig
from tiedlm.paths import working_folder
from tiedlm.run.config import RunConfig, Seed
from tiedlm.run.layout import FILES

ConfigSource = str | Path | Raw
"""A config file, the name of a packaged one, or the mapping that a file would hold."""


def load_experiment(config: ConfigSource, settings: Sequence[str] = ()) -> Experiment:
    """The experiment in a config; one without `variants` is an experiment of one.

    `settings` are `dotted.key=value`; they reach every variant. Raises ConfigError, also for a setting of a key in
    which the variants differ.
    """
    return experiment_from(read_source(config), source_of(config), settings)


def experiment_from(raw: Raw, source: str = "", settings: Sequence[str] = ()) -> Experiment:
    """The experiment that the mapping in a file describes; raises ConfigError with everything that is wrong."""
    raw = written_in(raw, working_folder())
    of_runs, of_experiment = settings_of_runs(settings)
    raw = apply_settings(raw, of_experiment)
    base = {key: value for key, value in raw.items() if key not in EXPERIMENT_KEYS}
    single = apply_settings(base, of_runs)  # the one run of a file without variants
    if _is_model_alone(single):
        problem = Problem("", "holds a model alone (no data, no training): it can be counted, not trained")
        raise ConfigError(problem, source=source)
    keys = parse(ExperimentKeys, {key: raw[key] for key in EXPERIMENT_KEYS if key in raw}, source)
    seeds = _seeds(keys, single, source)
    if keys.variants is None:
        variant = single.get("variant", _tying_of(single))
        written = [WrittenVariant(str(variant), {**single, "seed": seeds[0], "variant": variant}, None)]
    else:
        _check_variants(keys.variants, single, source)
        merged = {name: merge(base, override) for name, override in keys.variants.items()}
        written = [
            WrittenVariant(name, {**raw, "seed": seeds[0], "variant": name}, keys.variants[name])
            for name, raw in with_settings(merged, of_runs, source).items()
        ]
    return _experiment(keys, seeds, written, apply_settings({}, of_runs), source)


def _experiment(
    keys: ExperimentKeys, seeds: tuple[int, ...], written: Sequence[WrittenVariant], changes: Raw, source: str
) -> Experiment:
    """`changes` are what the settings say of the runs."""
    tried = _tried(keys, seeds, [variant.name for variant in written], changes, source)
    variants = _configs(written, tried, source)
    baseline = _baseline(keys, variants, source)
    return Experiment(
        name=next(iter(variants.values())).name,
        seeds=seeds,
        baseline=baseline,
        variants=variants,
        primary=_primary(keys, variants, baseline, source),
        smallest_worthwhile=keys.smallest_worthwhile,
        noise_floor=keys.noise_floor,
        match=keys.match,
        search=tried.search({variant.name: variant.raw for variant in written}, source) if tried else None,
    )


def _seeds(keys: ExperimentKeys, base: Raw, source: str) -> tuple[int, ...]:
    if keys.seeds is None:
        try:
            return (TypeAdapter(Seed).validate_python(base.get("seed", 0)),)
        except ValidationError:
            problem = Problem("seed", f"{base['seed']!r}: must be a whole number from 0 to 2^32 - 1")
            raise ConfigError(problem, source=source) from None
    if "seed" in base:
        raise ConfigError(Problem("seed", "give seed or seeds, not both"), source=source)
    if not keys.seeds:
        raise ConfigError(Problem("seeds", "must name at least one seed"), source=source)
    repeated = sorted({seed for seed in keys.seeds if keys.seeds.count(seed) > 1})
    if repeated:
        raise ConfigError(Problem("seeds", f"{repeated[0]} stands there more than once"), source=source)
    return keys.seeds


def _check_variants(variants: Mapping[str, Raw], base: Raw, source: str) -> None:
    if "variant" in base:
        raise ConfigError(Problem("variant", "belongs to a file without variants"), source=source)
    if base.get("added") is not None:
        raise ConfigError(Problem("added", "is set by the plan: noise_floor or match ask for it"), source=source)
    if base.get("part") is not None:
        raise ConfigError(Problem("part", "is set by the plan: recipes or budgets ask for it"), source=source)
    if not variants:
        raise ConfigError(Problem("variants", "must name at least one variant"), source=source)


def _tried(keys: ExperimentKeys, seeds: Sequence[int], names: Sequence[str], changes: Raw, source: str) -> Tried | None:
    """What is to be tried, which nothing else in the file may give. Raises ConfigError."""
    if keys.tune is None:
        return None
    check_seeds(keys.tune, seeds, source)
    tried = Tried.of(keys.tune, names, source)
    overrides = keys.variants or {}
    given = {name: {f"variants.{name}.": overrides.get(name, {}), "--set ": changes} for name in names}
    problems = [
        Problem(f"{place}{key}", f"is tuned: {keys.tune.place(name, key)} gives its values (tune: null gives none)")
        for name, places in given.items()
        for place, raw in places.items()
        for key in tried.spaces[name]
        if holds(raw, key)
    ]
    if problems:
        raise ConfigError(*dict.fromkeys(problems), source=source)
    return tried


def _unfit_folders(names: Sequence[str]) -> list[Problem]:
    """Names of files of the experiment, and those that a file system without upper and lower case would make one."""
    taken = "is the name of a file of the experiment: give it another one"
    files = [Problem(f"variants.{name}", taken) for name in names if name.lower() in FILES]
    spelled: dict[str, str] = {}
    for name in names:
        spelled.setdefault(name.lower(), name)
    pairs = [(spelled[name.lower()], name) for name in names if spelled[name.lower()] != name]
    return files + [
        Problem("variants", f"{one} and {other} differ only in upper and lower case") for one, other in pairs
    ]


def _configs(written: Sequence[WrittenVariant], tried: Tried | None, source: str) -> dict[str, RunConfig]:
    """Each variant with its first point in it; raises ConfigError with everything that is wrong with any."""
    configs: dict[str, RunConfig] = {}
    problems = _unfit_folders([variant.name for variant in written])
    for variant in written:
        try:
            config = variant.config(tried.points[variant.name][0], tried.tune) if tried else variant.config({})
            configs[config.variant] = config
        except ConfigError as error:
            problems += [problem for problem in error.problems if problem not in problems]
    if problems:
        raise ConfigError(*_told_once(problems, written), source=source)
    return configs


def _told_once(problems: Sequence[Problem], written: Sequence[WrittenVariant]) -> list[Problem]:
    """What is wrong with a mapping of all variants alike is told once, without the name of one."""
    told: list[Problem] = []
    for problem in problems:
        own = next((each for each in written if problem.key.startswith(f"variants.{each.name}.")), None)
        key = problem.key.removeprefix(f"variants.{own.name}.") if own is not None else problem.key
        alike = {Problem(f"variants.{each.name}.{key}", problem.message) for each in written} <= {*problems}
        one = Problem(key, problem.message) if own is not None and own.changes_within(key) and alike else problem
        told += [one] if one not in told else []
    return told


def settings_of_runs(settings: Sequence[str]) -> tuple[list[str], list[str]]:
    """The settings that are of runs, and the others: those of keys that the experiment has beside them."""
    of_runs = [setting for setting in settings if not _is_of_experiment(setting)]
    return of_runs, list(filter(_is_of_experiment, settings))


def _is_of_experiment(setting: str) -> bool:
    return re.split(r"[.=]", setting, maxsplit=1)[0].strip() in EXPERIMENT_KEYS


def _tying_of(base: Raw) -> str:
    model = base.get("model")
    tying = model.get("tying") if isinstance(model, dict) else None
    name = tying.get("type") if isinstance(tying, dict) else None
    return name if isinstance(name, str) else "tied"  # what is wrong with the type is said of the type


def _baseline(keys: ExperimentKeys, variants: Mapping[str, RunConfig], source: str) -> str:
    if keys.baseline is not None and keys.baseline not in variants:
        message = f"{keys.baseline!r} is not one of the variants: {', '.join(variants)}"
        raise ConfigError(Problem("baseline", message), source=source)
    if keys.baseline is not None:
        return keys.baseline
    return default_baseline(list(variants))


def _primary(keys: ExperimentKeys, variants: Mapping[str, RunConfig], baseline: str, source: str) -> str | None:
    if keys.primary is not None and keys.primary not in variants:
        message = f"{keys.primary!r} is not one of the variants: {', '.join(variants)}"
        raise ConfigError(Problem("primary", message), source=source)
    if keys.primary == baseline:
        raise ConfigError(Problem("primary", f"{baseline!r} is the baseline: name another variant"), source=source)
    return keys.primary


def load_shape(config: ConfigSource, settings: Sequence[str] = ()) -> ModelConfig:
    """The model in a config that holds a model alone; raises ConfigError."""
    raw = apply_settings(read_source(config), settings)
    return parse(ShapeConfig, raw, source_of(config)).model


def is_shape(config: ConfigSource) -> bool:
    """Whether a config holds a model alone."""
    return _is_model_alone(read_source(config))


def read_source(config: ConfigSource) -> Raw:
    """The mapping of a config, with everything that it extends; a mapping extends what a config may be named by."""
    if not isinstance(config, Mapping):
        return read_config(find_config(config))
    raw = dict(config)
    parent = raw.pop("extends", None)
    if parent is None:
        return raw
    if not isinstance(parent, str):
        raise ConfigError(Problem("extends", f"{parent!r}: must be the name of a file"))
    return merge(read_config(find_config(parent)), raw)


def source_of(config: ConfigSource) -> str:
    """What a message calls a config; nothing of a mapping."""
    return "" if isinstance(config, Mapping) else str(config)


def _is_model_alone(raw: Raw) -> bool:
    return "model" in raw and not {"data", "training"} & raw.keys()
