"""From what a file asks for to all variants of the plan: settings chosen by tuning, and the variants that are added.

Free of torch until a model must be counted.
"""

from pathlib import Path

from tiedlm.experiment.config import Experiment
from tiedlm.experiment.counts_cache import CountsCache
from tiedlm.experiment.match import with_matches
from tiedlm.experiment.redrawn_baseline import with_noise_floor
from tiedlm.experiment.tune import tune, with_tuned
from tiedlm.talk import SILENT, Talk


def expand(experiment: Experiment, runs_dir: Path, cache_dir: Path, talk: Talk | None = None) -> Experiment:
    """The experiment with tuned settings, where they are chosen, and the variants of `match` and `noise_floor`.

    Expanding it again changes nothing. Counts are kept in the experiment's folder. Text that a count needs is prepared
    where there is `talk`; without it nothing is written. Raises ConfigError, and RunError with `talk`.
    """
    experiment = with_tuned(experiment, runs_dir)
    counts = CountsCache(experiment.layout(runs_dir), cache_dir, talk)
    experiment = with_matches(experiment, counts)
    counts.keep()
    return with_noise_floor(experiment)


def tune_and_expand(
    experiment: Experiment, runs_dir: Path, cache_dir: Path, *, fresh: bool = False, talk: Talk = SILENT
) -> Experiment:
    """The experiment as it is to be carried out, after the tuning runs that are missing. Raises as `tune` does.

    What cannot be matched is refused before them.
    """
    if experiment.waits_for_tuning:
        with_matches(experiment, CountsCache(experiment.layout(runs_dir), cache_dir, talk))
    experiment = tune(experiment, runs_dir=runs_dir, cache_dir=cache_dir, fresh=fresh, talk=talk)
    return expand(experiment, runs_dir, cache_dir, talk)
