"""Try the settings that an experiment asks to tune, and go on with the best of each variant. Free of torch."""

from collections.abc import Sequence
from pathlib import Path

from tiedlm.config.base import first_difference
from tiedlm.errors import RunError
from tiedlm.experiment.carry_out import carry_out_each, lacking_runs
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.plan_tuning import Outcomes, choose, plan_tuning, tuned
from tiedlm.experiment.tuning import cautions_in_words, choice_in_words
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.result import RunFailure, RunResult
from tiedlm.talk import SILENT, Talk


def tune(
    experiment: Experiment, *, runs_dir: Path, cache_dir: Path, fresh: bool = False, talk: Talk = SILENT
) -> Experiment:
    """The experiment with its settings chosen, after the trials that are lacking; one that tunes nothing, as it is.

    Raises ConfigError before anything trains where a trial on disk is not the one asked for, RunError where no choice
    can be made, Interrupted with the state saved.
    """
    trials = plan_tuning(experiment, runs_dir)
    if not trials:
        return experiment
    if not fresh:
        for run in trials:
            RunFolder(run.directory).check_identity(run.config)
    lacking = trials if fresh else lacking_runs(trials)
    if lacking:
        talk.say(f"tuning first: {_number(experiment)}, {len(lacking)} of {len(trials)} to do")
    for _ in carry_out_each(trials, lacking, cache_dir=cache_dir, fresh=fresh, talk=talk, what="trial "):
        pass
    tuning = choose(experiment, outcomes_of(trials), runs_dir)
    if lacking:
        for line in (*map(choice_in_words, tuning.variants), *cautions_in_words(tuning)):
            talk.say(line)
    return tuned(experiment, tuning)


def with_tuned(experiment: Experiment, runs_dir: Path) -> Experiment:
    """With the settings that the trials on disk chose, where none of these is lacking; until then as it is."""
    if not experiment.waits_for_trials:
        return experiment
    trials = plan_tuning(experiment, runs_dir)
    if lacking_runs(trials) or any(map(_is_another, trials)):
        return experiment
    return tuned(experiment, choose(experiment, outcomes_of(trials), runs_dir))


def outcomes_of(trials: Sequence[Run]) -> Outcomes:
    """What lies in the folders of trials that have ended."""
    outcomes: dict[Path, RunResult | RunFailure] = {}
    for run in trials:
        folder = RunFolder(run.directory)
        outcome = folder.result() or folder.failure()
        if outcome is None:
            raise RunError("lacking", f"{run.label} has not been carried out: nothing can be chosen yet")
        outcomes[run.directory] = outcome
    return outcomes


def _number(experiment: Experiment) -> str:
    assert experiment.search is not None
    candidates, seeds = experiment.search.candidates, len(experiment.search.seeds)
    points = len(next(iter(candidates.values())))
    return f"{points} settings x {len(candidates)} variants x {seeds} seed{'s' if seeds > 1 else ''}"


def _is_another(run: Run) -> bool:
    """Whether a run of another recipe lies in the folder."""
    return first_difference(RunFolder(run.directory).made_with(), run.config) is not None
