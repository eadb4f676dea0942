"""Runs carried out one after another: counted, timed, and what came of each said. Free of torch."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tiedlm.errors import OUTSIDE, Interrupted, RunError
from tiedlm.evaluation.measures import perplexity
from tiedlm.experiment.carry_out import carry_out
from tiedlm.experiment.run_texts import RunTexts
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.result import SplitResult
from tiedlm.run.rung import RungScore
from tiedlm.run.rungs import read_rungs
from tiedlm.talk import SILENT, Talk
from tiedlm.time_left import Ahead, Clock, in_words


def carry_out_each(
    runs: Sequence[Run],
    unfinished: Sequence[Run],
    *,
    cache_dir: Path,
    fresh: bool = False,
    talk: Talk = SILENT,
    what: str = "",
    later: int = 0,
    clock: Clock = time.monotonic,
) -> Iterator[tuple[Run, Sequence[Run]]]:
    """Carry out the unfinished ones of a plan's `runs`; yields each when it has ended, with those still to come.

    How each run ended is said; where one fails, the others go on. `later` runs come after all of these. Raises
    ConfigError, Interrupted, RunError where no run could go on.
    """
    num_ended = len(runs) - len(unfinished)
    series = Series(len(runs), num_ended, cache_dir=cache_dir, fresh=fresh, talk=talk, what=what, clock=clock)
    for number, run in enumerate(unfinished, start=1):
        series.carry_out(Portion(run), runs, later=len(unfinished) - number + later)
        yield run, unfinished[number:]


@dataclass(frozen=True)
class Portion:
    """A part of a run, from the share of its steps that is done to another one, or all of it."""

    run: Run
    after: float = 0.0
    until: float = 1.0

    @property
    def size(self) -> float:
        """The part of a whole run that it is."""
        return self.until - self.after


class Series:
    """Carries out portions of runs one after another, counts them, and tells how long each took.

    `total` is how many there are, `num_ended` of them ended before.
    """

    def __init__(
        self,
        total: int,
        num_ended: int = 0,
        *,
        cache_dir: Path,
        fresh: bool = False,
        talk: Talk = SILENT,
        what: str = "",
        clock: Clock = time.monotonic,
    ) -> None:
        self.total, self.num_ended, self.fresh, self.talk, self.what = total, num_ended, fresh, talk, what
        self.num_carried_out = 0
        self.texts, self.stopwatch = RunTexts(cache_dir), _Stopwatch(clock)

    def carry_out(self, portion: Portion, runs: Sequence[Run], *, later: float) -> None:
        """The next one; `runs` are those of the plan, and as much as `later` whole runs comes after it.

        A failure is said, and the next one may follow. Raises as `carry_out_each` does.
        """
        self.num_carried_out += 1
        run, prefix = portion.run, f"[{self.what}{self.num_ended + 1}/{self.total}] " if self.total > 1 else ""
        siblings = [other for other in runs if other.config.seed == run.config.seed and other != run]
        try:
            with self.stopwatch.timing(portion.size if self._is_whole(portion) else None):
                carry_out(
                    run,
                    siblings,
                    texts=self.texts,
                    others=() if self.fresh else runs,
                    fresh=self.fresh,
                    talk=self.talk,
                    prefix=prefix,
                    ahead=self._ahead(portion, later),
                    until=portion.until if portion.until < 1 else None,
                )
        except Interrupted as error:
            if not prefix:
                raise
            has_ended = RunFolder(run.directory).result_file.is_file()  # the signal came when nothing was left to do
            done = f"{self.num_ended + has_ended} of {self.total} {self.what}runs done"
            raise Interrupted(error.number, f"{error}; {done}") from error
        except RunError as error:
            if error.kind in OUTSIDE:
                raise
            self.talk.say(f"{prefix}{run.label} failed: {error}")
        else:
            self.talk.say(f"{prefix}{run.label}: {_outcome(run)} in {in_words(self.stopwatch.last)}")
        self.num_ended += 1

    def _is_whole(self, portion: Portion) -> bool:
        """Whether all of a portion is still to be done."""
        return portion.after > 0 or self.fresh or not RunFolder(portion.run.directory).config_file.is_file()

    def _ahead(self, portion: Portion, later: float) -> Ahead:
        """What comes after a portion, in portions of its size."""
        mean = self.stopwatch.mean
        return Ahead(later / portion.size, None if mean is None else mean * portion.size)


class _Stopwatch:
    """Times runs, or portions of them, from their beginning to their end."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.last = 0.0
        self._seconds = self._runs = 0.0

    @contextmanager
    def timing(self, size: float | None) -> Iterator[None]:
        """Time the block, in which so much of a run is carried out.

        None: the rest of a portion that was begun before, which is not in the mean.
        """
        began = self.clock()
        yield
        self.last = self.clock() - began
        if size is not None:
            self._seconds += self.last
            self._runs += size

    @property
    def mean(self) -> float | None:
        """What a run takes from beginning to end; None before one, or a portion of one, has ended."""
        return self._seconds / self._runs if self._runs else None


def _outcome(run: Run) -> str:
    """ "test perplexity 193.21"; of a tuning run that of the validation split, of one that pauses with the step."""
    folder = RunFolder(run.directory)
    result = folder.result()
    if result is None:
        record = read_rungs(folder)
        assert record is not None  # it ended well, so one of the two was written
        score = record.scores[-1]
        return f"{_perplexity_in_words('validation', score)} after step {score.step:,}"
    split = "test" if "test" in result.splits else "validation"
    return _perplexity_in_words(split, result.splits[split])


def _perplexity_in_words(split: str, scored: SplitResult | RungScore) -> str:
    value = perplexity(scored.nll, scored.tokens)
    return f"{split} perplexity " + ("beyond any number" if value is None else f"{value:,.2f}")
