"""The baseline once more, with another draw of its embeddings alone. Pure, and free of torch."""

from tiedlm.experiment.config import Experiment
from tiedlm.run.added import Added

SUFFIX = "+redrawn"


def with_noise_floor(experiment: Experiment) -> Experiment:
    """With the baseline drawn anew, where `noise_floor` asks for it; raises ConfigError where its name is taken."""
    if not experiment.noise_floor:
        return experiment
    baseline = experiment.variants[experiment.baseline]
    redrawn = baseline.model_copy(update={"embedding_draw": baseline.embedding_draw + 1})
    return experiment.with_added(SUFFIX, redrawn, Added(role="noise_floor", of=experiment.baseline))
