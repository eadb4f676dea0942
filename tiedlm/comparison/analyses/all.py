"""Every analysis of a comparison. To add one, write its file here beside and name it in this list. Free of torch."""

from collections.abc import Callable
from dataclasses import dataclass

from tiedlm.comparison.analyses import budget, frequency, noise_floor, tokens_to_reach
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.config.base import Config


@dataclass(frozen=True)
class Analysis:
    """One question about finished runs.

    `key` is where its answer stands in comparison.json, `schema` what the answer holds. `measure` answers it, with None
    where there is nothing to measure.
    """

    key: str
    schema: type[Config]
    measure: Callable[[FinishedRuns], Config | None]


ANALYSES = (
    Analysis("noise_floor", noise_floor.NoiseFloor, noise_floor.measure),
    Analysis("tokens_to_reach", tokens_to_reach.TokensToReach, tokens_to_reach.measure),
    Analysis("frequency", frequency.Frequency, frequency.measure),
    Analysis("budget", budget.Budget, budget.measure),
)
"""In the order in which they are stored."""
