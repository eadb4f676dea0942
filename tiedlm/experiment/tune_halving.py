"""Successive halving carried out: which trial goes how far next, by what lies on disk. Free of torch."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tiedlm.config.base import ConfigError, Problem
from tiedlm.errors import RunError
from tiedlm.experiment.choose import check_failure
from tiedlm.experiment.halving import Halving, best
from tiedlm.experiment.plan_tuning import trial
from tiedlm.experiment.search import Search
from tiedlm.experiment.series import Portion
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.rungs import prune, read_rungs

Drop = Callable[[RunFolder], None]


@dataclass(frozen=True)
class Lacking:
    """A portion of a trial that is still to be done, how many portions come before it, and what is left after it.

    `later` is in whole runs.
    """

    portion: Portion
    num_before: int
    later: float


def keep_all(folder: RunFolder) -> None:
    """For one who only looks: nothing is pruned."""


class Tournament:
    """The rungs of a search, one after another; each variant is ranked for itself.

    At a rung the candidates of all variants come in turns. A candidate with enough better ones before it is out at
    once, so that no more states lie on disk than go on.
    """

    def __init__(self, search: Search, runs_dir: Path, drop: Drop = prune) -> None:
        assert search.halving is not None
        self.search, self.runs_dir, self.drop = search, runs_dir, drop
        self.halving: Halving = search.halving
        self.entrants = self.halving.entrants(search.num_candidates)
        self.left = search.num_whole_runs * len(search.candidates) * len(search.seeds)
        self.num_before = 0
        self.dropped: set[tuple[str, int]] = set()

    def check(self) -> None:
        """Raise ConfigError where a trial on disk was judged where no rung is any more."""
        for variant, candidates in self.search.candidates.items():
            for number in range(len(candidates)):
                for run in self._runs(variant, number):
                    record = read_rungs(RunFolder(run.directory))
                    for score in record.scores if record else ():
                        if not any(math.isclose(score.share, share) for share in self.halving.shares):
                            message = f"{run.directory} was judged after {score.share:g} of its steps, which is no rung"
                            way_out = "--fresh starts the search again, another name keeps it"
                            raise ConfigError(Problem("tune.min_fraction", f"{message} now; {way_out}"))

    def lacking(self) -> Iterator[Lacking]:
        """Each portion that is lacking; it must have been carried out, or failed, before the next one is asked for.

        Raises RunError where all candidates of a variant diverged, and where one failed for another reason.
        """
        alive = {variant: list(range(self.search.num_candidates)) for variant in self.search.candidates}
        before = 0.0
        for rung, share in enumerate(self.halving.shares):
            losses: dict[str, list[float]] = {variant: [] for variant in alive}
            for place in range(max(map(len, alive.values()))):
                for variant, numbers in alive.items():
                    for number in numbers[place : place + 1]:
                        yield from self._lacking_of(variant, number, before, share)
                        losses[variant].append(self._loss(self._runs(variant, number), share))
                    if share < 1:
                        self._drop_beaten(variant, numbers, losses[variant], rung)
            if share < 1:
                alive = {
                    variant: self._survivors(variant, numbers, losses[variant], rung)
                    for variant, numbers in alive.items()
                }
            before = share

    def _lacking_of(self, variant: str, number: int, before: float, share: float) -> Iterator[Lacking]:
        for run in self._runs(variant, number):
            portion = Portion(run, before, share)
            self.left -= portion.size
            if not _has_reached(RunFolder(run.directory), share):
                yield Lacking(portion, self.num_before, max(self.left, 0))
                _check(run)
            self.num_before += 1

    def _runs(self, variant: str, number: int) -> list[Run]:
        candidate = self.search.candidates[variant][number]
        return [trial(candidate, variant, seed, self.runs_dir) for seed in self.search.seeds]

    def _loss(self, runs: Sequence[Run], share: float) -> float:
        """The mean over the seeds of a candidate at a rung; infinite where one diverged before it."""
        nats: list[float] = []
        for run in runs:
            record = read_rungs(RunFolder(run.directory))
            score = record.at(share) if record else None
            if score is None:
                return math.inf
            nats.append(score.nll / score.tokens)
        return math.fsum(nats) / len(nats)

    def _survivors(self, variant: str, numbers: Sequence[int], losses: Sequence[float], rung: int) -> list[int]:
        found = best(losses, self.entrants[rung + 1])
        if not found:
            tried = self.search.num_candidates
            raise RunError("diverged", f"{variant}: every one of its {tried} trials diverged; change tune.space")
        return [numbers[place] for place in found]

    def _drop_beaten(self, variant: str, numbers: Sequence[int], losses: Sequence[float], rung: int) -> None:
        """Prune those of the candidates scored so far that others have certainly left behind."""
        going_on = best(losses, self.entrants[rung + 1])
        for place, loss in enumerate(losses):
            beaten = (variant, numbers[place])
            if place in going_on or loss == math.inf or beaten in self.dropped:
                continue
            self.dropped.add(beaten)
            for run in self._runs(*beaten):
                folder = RunFolder(run.directory)
                if not folder.result_file.is_file():  # of a search that had fewer candidates
                    self.drop(folder)


def _has_reached(folder: RunFolder, share: float) -> bool:
    """Whether a trial has nothing to do up to a share of its steps."""
    failure = folder.failure()
    if folder.result_file.is_file() or (failure is not None and failure.kind == "diverged"):
        return True
    record = read_rungs(folder) if share < 1 else None
    return record is not None and record.at(share) is not None


def _check(run: Run) -> None:
    failure = RunFolder(run.directory).failure()
    if failure is not None:
        check_failure(run, failure)
