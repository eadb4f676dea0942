"""Where runs lie. Pure, and free of torch."""

from dataclasses import dataclass
from pathlib import Path

from tiedlm.run.config import RunConfig

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


def place(config: RunConfig, runs_dir: Path) -> Run:
    """A run config with its folder, `runs_dir/<experiment>/<variant>/seed-<n>`.

    Trials stand apart, where nobody takes them for runs: `runs_dir/<experiment>/tuning/<of>/<settings>/seed-<n>`.
    """
    home = runs_dir / config.name
    above = home if config.trial_of is None else home / TUNING / config.trial_of
    return Run(config, above / config.variant / f"seed-{config.seed}")
