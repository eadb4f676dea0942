"""Carry out the tuning search of an experiment, and go on with the best settings of each variant. Free of torch."""

from collections.abc import Sequence
from pathlib import Path

from tiedlm.errors import RunError
from tiedlm.experiment.carry_out import unfinished_runs
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.plan_tuning import Outcomes, choose, plan_tuning, tuned
from tiedlm.experiment.series import carry_out_each
from tiedlm.experiment.tuning import cautions_in_words, choice_in_words
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.result import RunFailure, RunResult
from tiedlm.talk import SILENT, Talk


def tune(
    experiment: Experiment, *, runs_dir: Path, cache_dir: Path, fresh: bool = False, talk: Talk = SILENT
) -> Experiment:
    """The experiment with its settings chosen, after the tuning runs that are missing; the same if it tunes nothing.

    Raises ConfigError before anything trains where a tuning run on disk is not the one asked for, RunError where no
    choice can be made, Interrupted with the state saved.
    """
    runs = plan_tuning(experiment, runs_dir)
    if not runs:
        return experiment
    if not fresh:
        for run in runs:
            RunFolder(run.directory).check_identity(run.config)
    unfinished = runs if fresh else unfinished_runs(runs)
    if unfinished:
        talk.say(f"tuning first: {_size_in_words(experiment)}, {len(unfinished)} of {len(runs)} to do")
    later = len(experiment.variants) * len(experiment.seeds)
    for _ in carry_out_each(runs, unfinished, cache_dir=cache_dir, fresh=fresh, talk=talk, what="trial ", later=later):
        pass
    tuning = choose(experiment, outcomes_of(runs), runs_dir)
    if unfinished:
        for line in (*map(choice_in_words, tuning.variants), *cautions_in_words(tuning)):
            talk.say(line)
    return tuned(experiment, tuning)


def with_tuned(experiment: Experiment, runs_dir: Path) -> Experiment:
    """With the settings that the tuning runs on disk lead to, if all of them have ended; until then unchanged."""
    if not experiment.waits_for_tuning:
        return experiment
    runs = plan_tuning(experiment, runs_dir)
    if unfinished_runs(runs) or any(map(_is_another, runs)):
        return experiment
    return tuned(experiment, choose(experiment, outcomes_of(runs), runs_dir))


def outcomes_of(runs: Sequence[Run]) -> Outcomes:
    """The results and failures of tuning runs; raises RunError where one has not ended."""
    outcomes: dict[Path, RunResult | RunFailure] = {}
    for run in runs:
        folder = RunFolder(run.directory)
        outcome = folder.result() or folder.failure()
        if outcome is None:
            raise RunError("lacking", f"{run.label} has not been carried out: nothing can be chosen yet")
        outcomes[run.directory] = outcome
    return outcomes


def _size_in_words(experiment: Experiment) -> str:
    assert experiment.search is not None
    candidates, seeds = experiment.search.candidates, len(experiment.search.seeds)
    points = len(next(iter(candidates.values())))
    return f"{points} settings x {len(candidates)} variants x {seeds} seed{'s' if seeds > 1 else ''}"


def _is_another(run: Run) -> bool:
    """Whether a run of another recipe or text lies in the folder."""
    return RunFolder(run.directory).difference_from(run.config) is not None
