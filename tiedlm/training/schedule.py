"""The learning rate of every step."""

import math

from tiedlm.config.base import ConfigError, Problem
from tiedlm.training.config import TrainingConfig


class Schedule:
    """Learning rates over `num_steps` steps, numbered from 0; each is above 0 where `learning_rate` is.

    Warm-up is linear and reaches the peak with its last step. Raises ConfigError where it does not fit into the run.
    """

    def __init__(self, config: TrainingConfig, num_steps: int) -> None:
        self.config = config
        self.num_steps = num_steps
        self.warmup = _in_steps(config.warmup, num_steps)
        self.decay = _in_steps(config.decay or 0, num_steps)
        if self.warmup + self.decay > num_steps or (self.warmup == num_steps and num_steps > 1):
            message = f"warm-up of {self.warmup} and decay of {self.decay} steps do not fit into a run of {num_steps}"
            raise ConfigError(Problem("training.warmup", message))

    def __call__(self, step: int) -> float:
        """The learning rate that `step` uses."""
        if step < self.warmup:
            return self.config.learning_rate * (step + 1) / self.warmup
        peak, floor = self.config.learning_rate, self.config.min_learning_rate
        return floor + (peak - floor) * self._share(step)

    def _share(self, step: int) -> float:
        """Where between floor (0) and peak (1) the rate lies after warm-up."""
        match self.config.schedule:
            case "constant":
                return 1.0
            case "cosine":
                done = (step - self.warmup) / (self.num_steps - self.warmup)
                return (1 + math.cos(math.pi * done)) / 2
            case "wsd":
                left = self.num_steps - step
                return min(1.0, left / (self.decay + 1))
            case "step":
                passed = sum(step >= milestone * self.num_steps for milestone in self.config.milestones or ())
                return float((self.config.gamma or 1.0) ** passed)


def steps_before_decay(schedule: str, decay: float | None, num_steps: int) -> int | None:
    """How many steps are taken before the rate falls from its peak; None where it falls as of the warm-up."""
    match schedule:
        case "constant":
            return num_steps
        case "wsd":
            return num_steps - _in_steps(decay or 0, num_steps)
        case _:
            return None


def _in_steps(length: float, num_steps: int) -> int:
    """Whole numbers are steps, others fractions of the run."""
    return length if isinstance(length, int) else round(length * num_steps)
