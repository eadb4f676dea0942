"""Carry out the tuning search of an experiment, and go on with the best settings of each variant. Free of torch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiedlm.errors import RunError
from tiedlm.experiment.carry_out import check_identity, unfinished_runs
from tiedlm.experiment.choose import Outcomes, Rungs, check_failure, choose, score_of, tuned
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.plan_tuning import (
    candidate_of,
    is_proposed,
    plan_tuning,
    trials_of_number,
    with_candidate,
    with_stored,
)
from tiedlm.experiment.search import Search
from tiedlm.experiment.series import Portion, Series, carry_out_each
from tiedlm.experiment.tpe import check_optuna, propose
from tiedlm.experiment.tune_halving import Tournament, keep_all
from tiedlm.experiment.tuning import cautions_in_words, choice_in_words
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.result import RunFailure, RunResult
from tiedlm.run.rung import RungRecord
from tiedlm.run.rungs import read_rungs
from tiedlm.talk import SILENT, Talk

_WHAT = "trial "


def tune(
    experiment: Experiment, *, runs_dir: Path, cache_dir: Path, fresh: bool = False, talk: Talk = SILENT
) -> Experiment:
    """The experiment with its settings chosen, after the trials that are missing; the same if it tunes nothing.

    Raises ConfigError before anything trains where a trial on disk is not the one asked for, or a package is lacking,
    RunError where no choice can be made, Interrupted with the state saved.
    """
    if experiment.search is None:
        return experiment
    if not fresh:
        experiment = with_stored(experiment, runs_dir)
        check_identity(plan_tuning(experiment, runs_dir))
    did_something = _Trying(experiment, runs_dir, cache_dir, fresh, talk).carry_out()
    experiment = with_stored(experiment, runs_dir)
    runs = plan_tuning(experiment, runs_dir)
    tuning = choose(experiment, outcomes_of(runs), runs_dir, rungs_of(runs))
    if did_something:
        choices = [choice_in_words(one, tuning.axes) for one in tuning.variants]
        for line in (*choices, *cautions_in_words(tuning)):
            talk.say(line)
    return tuned(experiment, tuning)


class _Trying:
    """Carries out the trials of a search that are lacking, by its method."""

    def __init__(self, experiment: Experiment, runs_dir: Path, cache_dir: Path, fresh: bool, talk: Talk) -> None:
        assert experiment.search is not None
        self.experiment, self.search, self.runs_dir = experiment, experiment.search, runs_dir
        self.cache_dir, self.fresh, self.talk = cache_dir, fresh, talk
        self.runs = plan_tuning(experiment, runs_dir)
        self.later = len(experiment.variants) * len(experiment.seeds)

    def carry_out(self) -> bool:
        """Whether any was lacking."""
        if self.search.halving is not None:
            return self._halve()
        return self._adapt() if self.search.adaptive is not None else self._try_all()

    def _try_all(self) -> bool:
        unfinished = self.runs if self.fresh else unfinished_runs(self.runs)
        if unfinished:
            self._say_size(len(unfinished), len(self.runs))
        runs, later = self.runs, self.later
        options: dict[str, Any] = {"cache_dir": self.cache_dir, "fresh": self.fresh, "talk": self.talk, "what": _WHAT}
        for _ in carry_out_each(runs, unfinished, **options, later=later):
            pass
        return bool(unfinished)

    def _halve(self) -> bool:
        if self.fresh:
            self._clear()
        tournament = Tournament(self.search, self.runs_dir)
        tournament.check()
        series = self._series(self.search.num_portions)
        for lacking in tournament.lacking():
            if not series.num_carried_out:
                self._say_size(self.search.num_portions - lacking.num_before, self.search.num_portions)
            series.num_ended = lacking.num_before
            series.carry_out(lacking.portion, self.runs, later=lacking.later + self.later)
        return series.num_carried_out > 0

    def _adapt(self) -> bool:
        """One candidate after another, each variant's by what it has tried before."""
        if self.fresh:
            self._clear()
        if not all(self._is_proposed(variant, number) for variant, number in self._proposals()):
            check_optuna()
        series = self._series(len(self.runs))
        for number in range(self.search.num_candidates):
            for variant in self.search.candidates:
                if not self._is_proposed(variant, number):
                    self._propose(variant, number)
            for run in trials_of_number(self.search, number, self.search.seeds, self.runs_dir):
                if unfinished_runs([run]):
                    if not series.num_carried_out:
                        self._say_size(len(self.runs) - series.num_ended, len(self.runs))
                    later = len(self.runs) - series.num_ended - 1 + self.later
                    series.carry_out(Portion(run), self.runs, later=later)
                    failure = RunFolder(run.directory).failure()
                    if failure is not None:
                        check_failure(run, failure)
                else:
                    series.num_ended += 1
        return series.num_carried_out > 0

    def _proposals(self) -> list[tuple[str, int]]:
        assert self.search.adaptive is not None
        numbers = range(self.search.adaptive.num_drawn, self.search.num_candidates)
        return [(variant, number) for number in numbers for variant in self.search.candidates]

    def _is_proposed(self, variant: str, number: int) -> bool:
        return is_proposed(self.search, number, variant, self.experiment.layout(self.runs_dir))

    def _propose(self, variant: str, number: int) -> None:
        search = self.search
        assert search.adaptive is not None
        before = search.candidates[variant][:number]
        outcomes = outcomes_of(self._runs_of(variant, number))
        losses = [score_of(candidate, variant, search, outcomes, self.runs_dir, {}).loss for candidate in before]
        point = propose(search.space(variant), [dict(one.settings) for one in before], losses, search.adaptive.seed)
        self.search = with_candidate(search, variant, number, candidate_of(search, variant, number, point))

    def _runs_of(self, variant: str, number: int) -> list[Run]:
        """The trials of a variant's candidates before a number."""
        found = [
            run
            for before in range(number)
            for run in trials_of_number(self.search, before, self.search.seeds, self.runs_dir)
        ]
        return [run for run in found if run.config.tuning_of == variant]

    def _series(self, total: int) -> Series:
        return Series(total, cache_dir=self.cache_dir, talk=self.talk, what=_WHAT)

    def _clear(self) -> None:
        """Remove the trials on disk: what one of them said of another is not to be heard."""
        for run in self.runs:
            folder = RunFolder(run.directory)
            if folder.path.is_dir():
                with folder.lock(self.talk):
                    folder.clear()

    def _say_size(self, to_do: int, total: int) -> None:
        self.talk.say(f"tuning first: {self.search.in_words}, {to_do} of {total} to do")


def with_tuned(experiment: Experiment, runs_dir: Path) -> Experiment:
    """With the settings that the trials on disk lead to, if all of them have ended; until then unchanged."""
    if not experiment.waits_for_tuning:
        return experiment
    experiment = with_stored(experiment, runs_dir)
    assert experiment.search is not None
    runs = plan_tuning(experiment, runs_dir)
    if _is_lacking(experiment.search, runs, runs_dir) or any(map(_is_another, runs)):
        return experiment
    return tuned(experiment, choose(experiment, outcomes_of(runs), runs_dir, rungs_of(runs)))


def _is_lacking(search: Search, runs: Sequence[Run], runs_dir: Path) -> bool:
    if search.halving is None:
        return bool(unfinished_runs(runs))
    return next(Tournament(search, runs_dir, keep_all).lacking(), None) is not None


def outcomes_of(runs: Sequence[Run]) -> Outcomes:
    """The results and failures of trials, and what pruned ones scored; raises RunError where one has not ended."""
    outcomes: dict[Path, RunResult | RunFailure | RungRecord] = {}
    for run in runs:
        folder = RunFolder(run.directory)
        outcome = folder.result() or folder.failure() or read_rungs(folder)
        if outcome is None:
            raise RunError("lacking", f"{run.label} has not been carried out: nothing can be chosen yet")
        outcomes[run.directory] = outcome
    return outcomes


def rungs_of(runs: Sequence[Run]) -> Rungs:
    """What trials scored on the way, of those that paused."""
    found = {run.directory: read_rungs(RunFolder(run.directory)) for run in runs}
    return {directory: record for directory, record in found.items() if record is not None}


def _is_another(run: Run) -> bool:
    """Whether a run of another recipe or text lies in the folder."""
    return RunFolder(run.directory).difference_from(run.config) is not None
