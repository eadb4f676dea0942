"""What an experiment comes to: the variants its file names, and those that the plan adds to them. Free of torch."""

from pathlib import Path

from tiedlm.experiment.config import Experiment
from tiedlm.experiment.noise_floor import with_noise_floor


def whole(experiment: Experiment, runs_dir: Path, cache_dir: Path) -> Experiment:
    """The experiment with everything its file asks for in few words; once more, it stays as it is.

    What must be counted or was found out before is kept in the experiment's folder. Raises ConfigError.
    """
    return with_noise_floor(experiment)
