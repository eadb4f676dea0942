"""From an experiment to its runs. Pure, and free of torch."""

from dataclasses import dataclass
from pathlib import Path

from tiedlm.config import ConfigError, Problem
from tiedlm.experiment.config import Experiment, RunConfig

TUNING = "tuning"
"""The folder of an experiment's trials."""


@dataclass(frozen=True)
class Run:
    """A run and the folder it lives in."""

    config: RunConfig
    directory: Path

    @property
    def label(self) -> str:
        """The run in a few words."""
        return self.config.label

    @property
    def home(self) -> Path:
        """The experiment's folder."""
        return self.directory.parents[3 if self.config.is_trial else 1]


def plan(experiment: Experiment, runs_dir: Path) -> list[Run]:
    """Every run, seeds outermost: an interrupted night leaves whole comparisons."""
    return [
        place(experiment.run_config(variant, seed), runs_dir)
        for seed in experiment.seeds
        for variant in experiment.variants
    ]


def place(config: RunConfig, runs_dir: Path) -> Run:
    """A run config with its folder, `runs_dir/<experiment>/<variant>/seed-<n>`.

    Trials stand apart, where nobody takes them for runs: `runs_dir/<experiment>/tuning/<of>/<settings>/seed-<n>`.
    """
    home = runs_dir / config.name
    above = home if config.trial_of is None else home / TUNING / config.trial_of
    return Run(config, above / config.variant / f"seed-{config.seed}")


def pick(experiment: Experiment, variant: str | None = None, seed: int | None = None) -> RunConfig:
    """One run out of an experiment; its only variant and the first seed unless others are named. Raises ConfigError."""
    names = ", ".join(experiment.variants)
    if variant is None and len(experiment.asked) > 1:
        raise ConfigError(Problem("--variant", f"name one of {names}"))
    chosen = next(iter(experiment.asked)) if variant is None else variant
    if chosen not in experiment.variants:
        raise ConfigError(Problem("--variant", f"{chosen!r} is not one of {names}"))
    if experiment.search is not None and seed in experiment.search.seeds:
        raise ConfigError(Problem("--seed", f"{seed} is a seed of the trials: a run must have another"))
    return experiment.run_config(chosen, experiment.seeds[0] if seed is None else seed)
