"""What an experiment comes to: the variants its file names, and those that the plan adds to them. Free of torch."""

from pathlib import Path

from tiedlm.experiment.config import Experiment
from tiedlm.experiment.match import with_matches
from tiedlm.experiment.noise_floor import with_noise_floor
from tiedlm.experiment.stored_counts import KnownCounts
from tiedlm.experiment.tune import with_tuned
from tiedlm.talk import Talk


def whole(experiment: Experiment, runs_dir: Path, cache_dir: Path, talk: Talk | None = None) -> Experiment:
    """The experiment with everything its file asks for in few words; once more, it stays as it is.

    What must be counted or was found out before is kept in the experiment's folder. Text that a count hangs on is got
    ready where there is `talk`; without it nothing is written. Raises ConfigError, and RunError with `talk`.
    """
    experiment = with_tuned(experiment, runs_dir)
    counts = KnownCounts(runs_dir / experiment.name, cache_dir, talk)
    experiment = with_matches(experiment, counts)
    counts.keep()
    return with_noise_floor(experiment)
