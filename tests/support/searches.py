"""Searches of settings over runs that take a moment."""

from pathlib import Path

from tests.support.small_runs import Heard, shared_cache, small_config, steps
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.plan_tuning import plan_tuning, with_stored
from tiedlm.experiment.reading import load_experiment
from tiedlm.experiment.tune import tune
from tiedlm.run.folder import RunFolder

SPACE = """space: {training.learning_rate: {low: 1e-4, high: 1e-1, log: true},
    model.tying.input_scale: [1.0, sqrt_dim]},
    variants: {untied: {training.output_learning_rate_factor: {low: 0.5, high: 4}}}"""


def searching(folder: Path, method: str, *settings: str, trials: int = 6, seeds: str = "[100]") -> Experiment:
    """Tied and untied with a search of that method; the rungs of halving are steps 2 and 4 of 6."""
    rungs = ", reduction: 2, min_fraction: 0.3333333333" if method == "halving" else ""
    written = f"tune={{method: {method}, {SPACE}, trials: {trials}, seeds: {seeds}{rungs}}}"
    return load_experiment(small_config(folder), [written, *settings])


def searched(experiment: Experiment, folder: Path, talk: Heard | None = None, *, fresh: bool = False) -> Experiment:
    """With its settings chosen."""
    return tune(experiment, runs_dir=folder / "runs", cache_dir=shared_cache(), fresh=fresh, talk=talk or Heard())


def steps_on_disk(experiment: Experiment, folder: Path) -> dict[str, int]:
    """How many steps of each trial were taken, by its label; of those that were begun."""
    trials = plan_tuning(with_stored(experiment, folder / "runs"), folder / "runs")
    return {run.label: len(steps(run)) for run in trials if RunFolder(run.directory).metrics_file.is_file()}
