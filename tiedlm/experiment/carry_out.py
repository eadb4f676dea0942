"""Bring single runs to their end, each in a process of its own. Free of torch, and of numpy until a run must train."""

from collections.abc import Sequence
from pathlib import Path

from tiedlm.config.base import ConfigError, Problem
from tiedlm.data.open_corpus import open_corpus
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
from tiedlm.time_left import NONE_AHEAD, Ahead


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
    until: float | None = None,
) -> None:
    """Train and score a run, or the part `until` of it.

    `siblings` share its micro-batch size, `others` are the runs that it is to be pooled with.

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
        run,
        cache_dir=texts.cache_dir,
        fresh=fresh,
        prefix=prefix,
        siblings=siblings,
        quiet=quiet,
        ahead=ahead,
        until=until,
    )


def lacking_runs(runs: Sequence[Run], fresh: bool) -> Sequence[Run]:
    """What is to be carried out; raises ConfigError where a run on disk is not the one asked for."""
    if fresh:
        return runs
    check_identity(runs)
    return unfinished_runs(runs)


def check_identity(runs: Sequence[Run]) -> None:
    """Raise ConfigError where a run on disk is not the one asked for."""
    for run in runs:
        RunFolder(run.directory).check_identity(run.config)


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
