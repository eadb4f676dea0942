"""Carry out what an experiment lacks and compare what is there. Free of torch."""

from collections.abc import Callable, Sequence
from pathlib import Path

from tiedlm.errors import OUTSIDE, RunError
from tiedlm.experiment.carry_out import carry_out
from tiedlm.experiment.comparison import Comparison, default_primary
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.known_counts import KnownCounts
from tiedlm.experiment.match import sizes_in_words
from tiedlm.experiment.plan import Run, plan
from tiedlm.experiment.question import Question, answer
from tiedlm.experiment.store import RunFolder, agreement_file
from tiedlm.experiment.whole import whole
from tiedlm.talk import SILENT, Talk

Show = Callable[[Comparison], None]


def compare(
    experiment: Experiment,
    *,
    runs_dir: Path,
    cache_dir: Path,
    fresh: bool = False,
    talk: Talk = SILENT,
    show: Show = lambda comparison: None,
) -> Comparison:
    """Carry out the runs that are lacking, seed by seed, and compare all of them.

    `show` is called after each seed that leaves others to come. A run that fails is listed and the others go on; one
    that diverged is not tried again unless `fresh`. Raises ConfigError before anything trains where a run on disk is
    not the one asked for, Interrupted with the state saved, RunError where no run could go on.
    """
    experiment = whole(experiment, runs_dir, cache_dir, talk)
    runs = plan(experiment, runs_dir)
    if not fresh:
        for run in runs:
            RunFolder(run.directory).check_identity(run.config)
    else:
        agreement_file(_home(runs)).unlink(missing_ok=True)  # of a model and a batch that may have been others
    lacking = runs if fresh else lacking_runs(runs)
    if experiment.match is not None and lacking:
        for line in sizes_in_words(experiment, KnownCounts(_home(runs), cache_dir, talk)):
            talk.say(line)
    for number, run in enumerate(lacking, start=1):
        prefix = f"[{number}/{len(lacking)}] " if len(lacking) > 1 else ""
        siblings = [other for other in runs if other.config.seed == run.config.seed and other != run]
        try:
            carry_out(run, siblings, cache_dir=cache_dir, fresh=fresh, talk=talk, prefix=prefix)
        except RunError as error:
            if error.kind in ("interrupted", *OUTSIDE):
                raise
            talk.say(f"{prefix}{run.label} failed: {error}")
        to_come = lacking[number:]
        if to_come and to_come[0].config.seed != run.config.seed:
            show(_compared(experiment, [run for run in runs if run not in to_come]))
    return _compared(experiment, runs)


def lacking_runs(runs: Sequence[Run]) -> list[Run]:
    """Those of a plan that `compare` would carry out."""
    return [run for run in runs if _lacks(run)]


def _lacks(run: Run) -> bool:
    folder = RunFolder(run.directory)
    if folder.result() is not None:
        return False
    failure = folder.failure()
    return failure is None or failure.kind != "diverged"


def _compared(experiment: Experiment, runs: Sequence[Run]) -> Comparison:
    question = Question(
        experiment.name,
        experiment.baseline,
        tuple(experiment.variants),
        dict.fromkeys(experiment.variants, experiment.seeds),
        experiment.primary or default_primary(list(experiment.asked), experiment.baseline),
        experiment.smallest_worthwhile,
    )
    return answer([RunFolder(run.directory) for run in runs], question, _home(runs))


def _home(runs: Sequence[Run]) -> Path:
    """The experiment's folder."""
    return runs[0].directory.parent.parent
