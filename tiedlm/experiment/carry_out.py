"""Bring single runs to their end, each in a process of its own. Free of torch, and of numpy until a run must train."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tiedlm.config.base import ConfigError, Problem
from tiedlm.data.open_corpus import open_corpus
from tiedlm.errors import OUTSIDE, Interrupted, RunError
from tiedlm.evaluation.measures import perplexity
from tiedlm.experiment.check_joins import check_joins
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.plan import plan
from tiedlm.experiment.run_texts import RunTexts
from tiedlm.run.check_text import check_fits_text
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.loggers import check_loggers
from tiedlm.run.process import run_in_child
from tiedlm.run.result import RunResult
from tiedlm.talk import SILENT, Talk
from tiedlm.time_left import NONE_AHEAD, Ahead, Clock, in_words


def carry_out(
    run: Run,
    siblings: Sequence[Run],
    *,
    texts: RunTexts,
    others: Sequence[Run] = (),
    fresh: bool = False,
    talk: Talk = SILENT,
    prefix: str = "",
    ahead: Ahead = NONE_AHEAD,
) -> None:
    """Train and score a run; `siblings` share its micro-batch size, `others` are the runs that it is to be pooled with.

    The text is prepared in this process, so that the memory this takes is no part of any run's peak. Notes on the text
    (fewer types than requested, say) are said; a run, or a sibling, that does not fit the text is refused.
    Raises ConfigError, RunError, Interrupted.
    """
    RunFolder(run.directory).check_free(talk)
    for each in (run, *siblings):
        check_loggers(each.config.training.loggers)
        open_corpus(each.config.data.corpus).check()
    talk.now(f"{prefix}{run.label}: checking the text")
    quiet = talk is SILENT
    data, notes = texts.for_run(run.config.data, Talk(prefix) if prefix and not quiet else talk)
    for note in notes:
        if note not in texts.notes_said:  # once, not before every run
            texts.notes_said.add(note)
            talk.say(f"{prefix}{note}")
    check_joins(run, others, data.record())
    for each in (run, *siblings):
        if each.config.data == run.config.data:
            check_fits_text(each.config, data)
    talk.now(f"{prefix}{run.label}: starting")
    run_in_child(
        run, cache_dir=texts.cache_dir, fresh=fresh, prefix=prefix, siblings=siblings, quiet=quiet, ahead=ahead
    )


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
    texts, stopwatch = RunTexts(cache_dir), _Stopwatch(clock)
    num_ended = len(runs) - len(unfinished)
    for number, run in enumerate(unfinished, start=1):
        prefix = f"[{what}{num_ended + number}/{len(runs)}] " if len(runs) > 1 else ""
        siblings = [other for other in runs if other.config.seed == run.config.seed and other != run]
        ahead = Ahead(len(unfinished) - number + later, stopwatch.mean)
        try:
            with stopwatch.timing(is_whole=fresh or not RunFolder(run.directory).config_file.is_file()):
                others = () if fresh else runs
                carry_out(run, siblings, texts=texts, others=others, fresh=fresh, talk=talk, prefix=prefix, ahead=ahead)
        except Interrupted as error:
            if not prefix:
                raise
            has_ended = RunFolder(run.directory).result_file.is_file()  # the signal came when nothing was left to do
            done = f"{num_ended + number - 1 + has_ended} of {len(runs)} {what}runs done"
            raise Interrupted(error.number, f"{error}; {done}") from error
        except RunError as error:
            if error.kind in OUTSIDE:
                raise
            talk.say(f"{prefix}{run.label} failed: {error}")
        else:
            talk.say(f"{prefix}{run.label}: {_outcome(run)} in {in_words(stopwatch.last)}")
        yield run, unfinished[number:]


class _Stopwatch:
    """Times runs from their beginning to their end."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.last = 0.0
        self._whole: list[float] = []

    @contextmanager
    def timing(self, is_whole: bool) -> Iterator[None]:
        """Time the block, in which a run is carried out; the rest of one that was begun before is not in the mean."""
        began = self.clock()
        yield
        self.last = self.clock() - began
        if is_whole:
            self._whole.append(self.last)

    @property
    def mean(self) -> float | None:
        """What a run takes from beginning to end; None before one has ended."""
        return sum(self._whole) / len(self._whole) if self._whole else None


def _outcome(run: Run) -> str:
    """ "test perplexity 193.21"; of a tuning run that of the validation split."""
    result = RunFolder(run.directory).result()
    assert result is not None  # it ended well, so it was written
    split = "test" if "test" in result.splits else "validation"
    scored = result.splits[split]
    value = perplexity(scored.nll, scored.tokens)
    return f"{split} perplexity " + ("beyond any number" if value is None else f"{value:,.2f}")


def unfinished_runs(runs: Sequence[Run]) -> list[Run]:
    """The runs that have no result, without those that diverged, which they would again."""
    return [run for run in runs if _is_unfinished(RunFolder(run.directory))]


def _is_unfinished(folder: RunFolder) -> bool:
    if folder.result() is not None:
        return False
    failure = folder.failure()
    return failure is None or failure.kind != "diverged"


def train(experiment: Experiment, run: Run, *, cache_dir: Path, fresh: bool = False, talk: Talk = SILENT) -> RunResult:
    """The result of one run of an experiment, at once where it is complete. Raises as `carry_out` does."""
    if experiment.waits_for_tuning:
        message = "the settings of the runs are not chosen yet: `tiedlm compare` of this config tries them first"
        raise ConfigError(Problem("tune", message))
    folder = RunFolder(run.directory)
    if not fresh:
        folder.check_identity(run.config)
    result = None if fresh else folder.result()
    if result is not None:
        return result
    siblings = [
        Run(experiment.run_config(variant, run.config.seed), run.runs_dir)
        for variant in experiment.variants
        if variant != run.config.variant
    ]
    others = () if fresh else plan(experiment, run.runs_dir)
    carry_out(run, siblings, texts=RunTexts(cache_dir), others=others, fresh=fresh, talk=talk)
    result = folder.result()
    assert result is not None  # it ended well, so it was written
    return result
