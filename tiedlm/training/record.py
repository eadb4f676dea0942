"""What one training step did. Free of torch."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class StepRecord:
    """One step: its number from 1, and the values that it was taken with.

    `loss` is the mean objective in nats per target of the global batch, penalties included. `gradient_norm` is the norm
    before clipping, except that a limit on the output path has been applied. `tokens` (targets) and `seconds` count
    from the beginning of training. `update_ratios` (see update_ratios.py) is measured at a few steps of a run.
    """

    step: int
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens: int
    seconds: float
    update_ratios: Mapping[str, float | None] | None = None
