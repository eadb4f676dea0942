"""All runs that a config asks for, in the order in which they are carried out.

Free of torch until a model must be counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tiedlm.experiment.config import Experiment
from tiedlm.experiment.expand import expand
from tiedlm.experiment.parts import Parts, plan_judging, plan_parts
from tiedlm.experiment.plan import plan
from tiedlm.experiment.plan_tuning import plan_tuning, with_stored
from tiedlm.experiment.search import Search
from tiedlm.run.layout import Run


@dataclass(frozen=True)
class WhatToDo:
    """The runs of a plan.

    `waiting` are those whose settings are still to be chosen: runs after a tuning search, with its first settings, and
    runs that judge the best recipes, with the first recipe. `search` is the tuning search, with parts that of each.
    """

    experiments: Sequence[Experiment]
    runs: Sequence[Run]
    waiting: frozenset[Path]
    search: Search | None


def what_to_do(loaded: Experiment | Parts, runs_dir: Path, cache_dir: Path) -> WhatToDo:
    """The runs of an experiment, or of all its parts; nothing is written. Raises ConfigError."""
    if isinstance(loaded, Experiment):
        experiment = with_stored(expand(loaded, runs_dir, cache_dir), runs_dir)
        runs = plan(experiment, runs_dir)
        waiting = runs if experiment.waits_for_tuning else []
        trials = plan_tuning(experiment, runs_dir)
        return WhatToDo([experiment], [*trials, *runs], _folders(waiting), experiment.search)
    parts = loaded.with_experiments(
        {part.name: with_stored(expand(part.experiment, runs_dir, cache_dir), runs_dir) for part in loaded.parts}
    )
    experiments = [part.experiment for part in parts.parts]
    runs = plan_parts(parts, runs_dir)
    tuning = [run for experiment in experiments for run in plan_tuning(experiment, runs_dir)]
    first = parts.parts[0].name
    judging = (
        plan_judging(parts, dict.fromkeys(parts.first.variants, first), runs_dir) if parts.has_runs_to_judge else []
    )
    untuned = {experiment.part for experiment in experiments if experiment.waits_for_tuning}
    waiting = [*(run for run in runs if run.config.part in untuned), *judging]
    return WhatToDo(experiments, [*tuning, *runs, *judging], _folders(waiting), parts.first.search)


def _folders(runs: Sequence[Run]) -> frozenset[Path]:
    return frozenset(run.directory for run in runs)
