"""Compare runs that are finished, wherever they lie; nothing is trained. Free of torch."""

import math
from collections.abc import Sequence
from pathlib import Path

from tiedlm.comparison.comparison import Comparison, default_primary
from tiedlm.comparison.question import Question, answer, stored_comparison
from tiedlm.config.base import ConfigError, Problem, first_difference
from tiedlm.evaluation.measures import SMALLEST_WORTHWHILE
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder, run_folders
from tiedlm.run.layout import Layout, variant_of


def gather(
    paths: Sequence[Path],
    baseline: str | None = None,
    primary: str | None = None,
    smallest_worthwhile: float | None = None,
) -> Comparison:
    """Compare the finished runs in some folders, each a run's or an experiment's.

    What is not said is taken from the comparison stored in the folder, if one is; else the baseline is `untied` where
    there is one, or the first variant. Raises ConfigError where nothing is finished.
    """
    folders = list({folder.path.resolve(): folder for path in paths for folder in _runs_in(path)}.values())
    if not folders:
        source = ", ".join(map(str, paths))
        raise ConfigError(Problem("", "no run is there, neither finished nor begun"), source=source)
    home = paths[0] if len(paths) == 1 and not RunFolder(paths[0]).config_file.is_file() else None
    stored = stored_comparison(home)
    begun = [(folder, folder.made_with()) for folder in folders]
    configs = _config_of_each_variant(begun)
    if any(config.is_tuning_run for config in configs.values()):
        message = "trials are no runs, they only chose settings: --details of their experiment shows them"
        raise ConfigError(Problem("", message), source=str(paths[0]))
    variants = _in_order(configs, stored)
    if smallest_worthwhile is not None and not 0 < smallest_worthwhile < math.inf:  # nor NaN
        raise ConfigError(Problem("--smallest-worthwhile", f"{smallest_worthwhile:g}: must be above 0 and finite"))
    chosen = _baseline(baseline, variants, stored)
    question = Question(
        " + ".join(dict.fromkeys(Layout.around(folder.path).experiment_dir.name for folder in folders)),
        chosen,
        tuple(variants),
        _planned(begun, stored),
        _primary(primary, chosen, configs, variants, stored),
        smallest_worthwhile or (stored.smallest_worthwhile if stored else SMALLEST_WORTHWHILE),
        stored.tuning if stored else None,
    )
    comparison = answer(folders, question, home)
    if not comparison.variants:
        raise ConfigError(Problem("", "no run there is finished yet"), source=str(paths[0]))
    return comparison


def _runs_in(path: Path) -> list[RunFolder]:
    """The runs in a folder; raises ConfigError where one has a result but lost its config: it must not just be gone."""
    folder = RunFolder(path)
    if folder.config_file.is_file():
        return [folder]
    for run in (folder, *map(RunFolder, Layout(path).run_dirs())):
        if run.result_file.is_file() and not run.config_file.is_file():
            message = "has a result but no config.yaml; put that back, or take the result away"
            raise ConfigError(Problem("", message), source=str(run.path))
    return run_folders(path)


def _config_of_each_variant(begun: Sequence[tuple[RunFolder, RunConfig]]) -> dict[str, RunConfig]:
    """Raises ConfigError where two runs of one variant differ in more than their seed."""
    first: dict[str, tuple[RunFolder, RunConfig]] = {}
    same = {"name": "any", "seed": 0}
    for folder, own in begun:
        config = own.model_copy(update=same)
        other, theirs = first.setdefault(variant_of(folder.path), (folder, config))
        difference = first_difference(theirs, config)
        if difference:
            key, one, another = difference
            message = f"{other.path} has {one!r}, {folder.path} has {another!r}: not seeds of one variant"
            raise ConfigError(Problem(key, message))
    return {variant: config for variant, (_, config) in first.items()}


def _planned(begun: Sequence[tuple[RunFolder, RunConfig]], stored: Comparison | None) -> dict[str, tuple[int, ...]]:
    """The seeds of what was begun, and of what was still to come: without them what there is so far is not all."""
    seeds: dict[str, set[int]] = {}
    for folder, config in begun:
        seeds.setdefault(variant_of(folder.path), set()).add(config.seed)
    for run in stored.pending if stored else ():
        seeds.setdefault(run.variant, set()).add(run.seed)
    return {variant: tuple(sorted(own)) for variant, own in seeds.items()}


def _in_order(configs: dict[str, RunConfig], stored: Comparison | None) -> list[str]:
    """As they were shown before; then what a file named; then what was added to that."""
    shown = [variant.name for variant in stored.variants] if stored else []

    def place(name: str) -> tuple[bool, int]:
        return configs[name].added is not None, shown.index(name) if name in shown else len(shown)

    return sorted(configs, key=place)


def _baseline(named: str | None, variants: Sequence[str], stored: Comparison | None) -> str:
    if named is not None:
        _check_known("--baseline", named, variants)
        return named
    if stored is not None and stored.baseline in variants:
        return stored.baseline
    return "untied" if "untied" in variants else variants[0]


def _primary(
    named: str | None,
    baseline: str,
    configs: dict[str, RunConfig],
    variants: Sequence[str],
    stored: Comparison | None,
) -> str | None:
    if named is not None:
        _check_known("--primary", named, variants)
        if named == baseline:
            raise ConfigError(Problem("--primary", f"{named!r} is the baseline: name another variant"))
        return named
    if stored is not None and stored.primary in variants and stored.primary != baseline:
        return stored.primary
    return default_primary([variant for variant in variants if configs[variant].added is None], baseline)


def _check_known(option: str, name: str, variants: Sequence[str]) -> None:
    if name not in variants:
        raise ConfigError(Problem(option, f"{name!r} is not one of {', '.join(variants)}"))
