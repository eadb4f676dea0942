"""Bring single runs to their end, each in a process of its own. Free of torch, and of numpy until a run must train."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tiedlm.config.base import ConfigError, Problem
from tiedlm.data.open_corpus import open_corpus
from tiedlm.errors import OUTSIDE, RunError
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


def carry_out(
    run: Run,
    siblings: Sequence[Run],
    *,
    texts: RunTexts,
    others: Sequence[Run] = (),
    fresh: bool = False,
    talk: Talk = SILENT,
    prefix: str = "",
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
    data, notes = texts.for_run(run.config.data, Talk(prefix) if prefix and talk is not SILENT else talk)
    for note in notes:
        talk.say(f"{prefix}{note}")
    check_joins(run, others, data.record())
    for each in (run, *siblings):
        if each.config.data == run.config.data:
            check_fits_text(each.config, data)
    quiet = talk is SILENT
    run_in_child(run, cache_dir=texts.cache_dir, fresh=fresh, prefix=prefix, siblings=siblings, quiet=quiet)


def carry_out_each(
    runs: Sequence[Run],
    unfinished: Sequence[Run],
    *,
    cache_dir: Path,
    fresh: bool = False,
    talk: Talk = SILENT,
    what: str = "",
) -> Iterator[tuple[Run, Sequence[Run]]]:
    """Carry out the unfinished ones of a plan's `runs`; yields each when it has ended, with those still to come.

    A run that fails is said, and the others go on. Raises ConfigError, Interrupted, RunError where no run could go on.
    """
    texts = RunTexts(cache_dir)
    for number, run in enumerate(unfinished, start=1):
        prefix = f"[{what}{number}/{len(unfinished)}] " if len(unfinished) > 1 else ""
        siblings = [other for other in runs if other.config.seed == run.config.seed and other != run]
        try:
            carry_out(run, siblings, texts=texts, others=() if fresh else runs, fresh=fresh, talk=talk, prefix=prefix)
        except RunError as error:
            if error.kind in ("interrupted", *OUTSIDE):
                raise
            talk.say(f"{prefix}{run.label} failed: {error}")
        yield run, unfinished[number:]


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
