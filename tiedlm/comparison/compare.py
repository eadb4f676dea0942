"""Carry out what an experiment lacks and compare what is there. Free of torch."""

from collections.abc import Callable, Sequence
from pathlib import Path

from tiedlm.comparison.answer import answer
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.question import Question, default_primary
from tiedlm.config.base import ConfigError, Problem
from tiedlm.experiment.carry_out import check_identity, lacking_runs
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.counts_cache import CountsCache
from tiedlm.experiment.equal_variants import equal_variants
from tiedlm.experiment.expand import expand, tune_and_expand
from tiedlm.experiment.match import sizes_in_words
from tiedlm.experiment.plan import plan
from tiedlm.experiment.series import carry_out_each
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.loggers import log_comparison
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

    What is to be tuned is tuned first. `show` is called after each seed that leaves others to come. A run that fails is
    listed and the others go on; one that diverged is not tried again unless `fresh`. Raises ConfigError before anything
    trains where a run on disk is not the one asked for, Interrupted with the state saved, RunError where no run could
    go on.
    """
    if fresh:  # of a model and a batch that may have been others
        experiment.layout(runs_dir).micro_batch_file.unlink(missing_ok=True)
    experiment = tune_and_expand(experiment, runs_dir, cache_dir, fresh=fresh, talk=talk)
    runs = plan(experiment, runs_dir)
    lacking = lacking_runs(runs, fresh)
    for line in equal_variants(experiment) if lacking else ():
        talk.say_wrapped(line)
    if experiment.match is not None and lacking:
        for line in sizes_in_words(experiment, CountsCache(runs[0].layout, cache_dir, talk)):
            talk.say(line)
    for run, to_come in carry_out_each(runs, lacking, cache_dir=cache_dir, fresh=fresh, talk=talk):
        if to_come and to_come[0].config.seed != run.config.seed:
            show(_compared(experiment, [run for run in runs if run not in to_come]))
    comparison = _compared(experiment, runs)
    if lacking:
        _log(comparison, runs)
    return comparison


def _log(comparison: Comparison, runs: Sequence[Run]) -> None:
    """Hand the verdict and the differences to the loggers of the runs."""
    names = list(dict.fromkeys(name for run in runs for name in run.config.training.loggers))
    if names:
        values = {
            f"{found.split}/difference/{found.variant}": found.mean
            for found in comparison.differences
            if found.mean is not None
        }
        num_seeds = max((found.num_seeds for found in comparison.differences), default=0)
        folder = runs[0].layout.experiment_dir
        log_comparison(names, folder, comparison.experiment, comparison.verdict, num_seeds, values)


def compare_finished(experiment: Experiment, *, runs_dir: Path, cache_dir: Path) -> Comparison:
    """Compare those runs of an experiment that are finished, without training; the others are pending.

    Raises ConfigError where a run on disk is not the one asked for, where its settings are still to be tuned, and where
    nothing is finished.
    """
    experiment = expand(experiment, runs_dir, cache_dir)
    if experiment.waits_for_tuning:
        raise ConfigError(Problem("tune", "the tuning runs come first, and they are not all there"))
    runs = plan(experiment, runs_dir)
    check_identity(runs)
    comparison = _compared(experiment, runs)
    if not comparison.variants:
        raise ConfigError(Problem("", "no run of this experiment is finished yet"), source=str(runs_dir))
    return comparison


def _compared(experiment: Experiment, runs: Sequence[Run]) -> Comparison:
    folders = [RunFolder(run.directory) for run in runs]
    return answer(folders, question_of(experiment), runs[0].layout.experiment_dir)


def question_of(experiment: Experiment) -> Question:
    """What an experiment asks of its runs."""
    return Question(
        name=experiment.name,
        baseline=experiment.baseline,
        order=tuple(experiment.variants),
        planned=dict.fromkeys(experiment.variants, experiment.seeds),
        primary=experiment.primary or default_primary(experiment.variants_of_file, experiment.baseline),
        smallest_worthwhile=experiment.smallest_worthwhile,
        tuning=experiment.tuning,
    )
