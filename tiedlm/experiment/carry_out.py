"""Bring single runs to their end, each in a process of its own. Free of torch, and of numpy until one is lacking."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tiedlm.config.base import ConfigError, Problem
from tiedlm.errors import OUTSIDE, RunError
from tiedlm.experiment.config import Experiment
from tiedlm.run.fit import check_fits
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run, place
from tiedlm.run.loggers import check_loggers
from tiedlm.run.process import run_in_child
from tiedlm.run.result import RunResult
from tiedlm.talk import SILENT, Talk


def carry_out(
    run: Run, siblings: Sequence[Run], *, cache_dir: Path, fresh: bool = False, talk: Talk = SILENT, prefix: str = ""
) -> None:
    """Train and score a run; `siblings` share its micro-batch size.

    The text is prepared in this process: what that leaves behind in memory is no part of any run's peak. What is to be
    known of it (fewer types than asked for, say) is said, and what does not fit it is refused, of the siblings too.
    Raises ConfigError, RunError, Interrupted.
    """
    RunFolder(run.directory).check_free(talk)
    from tiedlm.data.prepare import prepare

    for each in (run, *siblings):
        check_loggers(each.config.training.loggers)
    prepared = prepare(run.config.data, cache_dir, Talk(prefix) if prefix else talk, verify=True)
    for note in prepared.notes:
        talk.say(f"{prefix}{note}")
    for each in (run, *siblings):
        if each.config.data == run.config.data:
            check_fits(each.config, prepared)
    run_in_child(run, cache_dir=cache_dir, fresh=fresh, prefix=prefix, siblings=siblings)


def carry_out_each(
    runs: Sequence[Run],
    lacking: Sequence[Run],
    *,
    cache_dir: Path,
    fresh: bool = False,
    talk: Talk = SILENT,
    what: str = "",
) -> Iterator[tuple[Run, Sequence[Run]]]:
    """Carry out those of a plan's `runs` that are lacking; yields each of them, and those still to come.

    A run that fails is said, and the others go on. Raises ConfigError, Interrupted, RunError where no run could go on.
    """
    for number, run in enumerate(lacking, start=1):
        prefix = f"[{what}{number}/{len(lacking)}] " if len(lacking) > 1 else ""
        siblings = [other for other in runs if other.config.seed == run.config.seed and other != run]
        try:
            carry_out(run, siblings, cache_dir=cache_dir, fresh=fresh, talk=talk, prefix=prefix)
        except RunError as error:
            if error.kind in ("interrupted", *OUTSIDE):
                raise
            talk.say(f"{prefix}{run.label} failed: {error}")
        yield run, lacking[number:]


def lacking_runs(runs: Sequence[Run]) -> list[Run]:
    """Those of a plan that have neither a result nor diverged, which they would again."""
    return [run for run in runs if _lacks(run)]


def _lacks(run: Run) -> bool:
    folder = RunFolder(run.directory)
    if folder.result() is not None:
        return False
    failure = folder.failure()
    return failure is None or failure.kind != "diverged"


def train(experiment: Experiment, run: Run, *, cache_dir: Path, fresh: bool = False, talk: Talk = SILENT) -> RunResult:
    """The result of one run of an experiment, at once where it is complete. Raises as `carry_out` does."""
    if experiment.waits_for_trials:
        message = "the settings of the runs are not chosen yet: `tiedlm compare` of this config tries them first"
        raise ConfigError(Problem("tune", message))
    folder = RunFolder(run.directory)
    if not fresh:
        folder.check_identity(run.config)
    result = None if fresh else folder.result()
    if result is not None:
        return result
    runs_dir = run.directory.parents[2]
    siblings = [
        place(experiment.run_config(variant, run.config.seed), runs_dir)
        for variant in experiment.variants
        if variant != run.config.variant
    ]
    carry_out(run, siblings, cache_dir=cache_dir, fresh=fresh, talk=talk)
    result = folder.result()
    assert result is not None  # it ended well, so it was written
    return result
