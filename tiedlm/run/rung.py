"""Scores of a run that pauses on the way, to be held against others at the same step.

A rung is a part of a run's steps. At each one the run saves its state, scores the validation split and ends; it goes on
from there, or is pruned and does not. Free of torch, and of what reads configs.
"""

import math

from tiedlm.config.base import Config


class RungScore(Config):
    """The validation split scored after `step`, the first with `share` of the run done.

    `nll` is a float64 sum in nats over all `tokens` targets.
    """

    step: int
    share: float
    nll: float
    tokens: int


class RungRecord(Config):
    """The scores of a run at its rungs, by step; `pruned_at_step` is the last of them where it did not go on."""

    variant: str
    seed: int
    scores: list[RungScore]
    pruned_at_step: int | None = None

    def at(self, share: float) -> RungScore | None:
        """The score of a rung."""
        return next((score for score in self.scores if math.isclose(score.share, share)), None)

    def with_score(self, score: RungScore) -> "RungRecord":
        """With one more score, the last; whatever was pruned goes on. Later ones, of an earlier try, are dropped."""
        before = [each for each in self.scores if each.step < score.step]
        return self.model_copy(update={"scores": [*before, score], "pruned_at_step": None})


def rung_step(share: float, num_steps: int) -> int:
    """The step after which `share` of a run is done, rounded up."""
    return math.ceil(round(share * num_steps, 6))  # 0.6 x 150 is a little more than 90
