"""From an experiment to its runs. Pure, and free of torch."""

from pathlib import Path

from tiedlm.config.base import ConfigError, Problem
from tiedlm.experiment.config import Experiment
from tiedlm.run.config import RunConfig
from tiedlm.run.layout import Run


def plan(experiment: Experiment, runs_dir: Path) -> list[Run]:
    """Every run, seeds outermost: interrupted, what is there can be compared."""
    return [
        Run(experiment.run_config(variant, seed), runs_dir)
        for seed in experiment.seeds
        for variant in experiment.variants
    ]


def pick(experiment: Experiment, variant: str | None = None, seed: int | None = None) -> RunConfig:
    """One run out of an experiment; its only variant and the first seed unless others are named. Raises ConfigError."""
    names = ", ".join(experiment.variants)
    if variant is None and len(experiment.variants_of_file) > 1:
        raise ConfigError(Problem("--variant", f"name one of {names}"))
    chosen = next(iter(experiment.variants_of_file)) if variant is None else variant
    if chosen not in experiment.variants:
        raise ConfigError(Problem("--variant", f"{chosen!r} is not one of {names}"))
    if experiment.search is not None and seed in experiment.search.seeds:
        raise ConfigError(Problem("--seed", f"{seed} is a seed of the trials: a run must have another"))
    return experiment.run_config(chosen, experiment.seeds[0] if seed is None else seed)
