"""Successive halving: how many candidates reach which part of a run, and which of them go on. Pure, and free of torch.

All candidates of all variants are judged at the same steps of the same schedule, which are fixed before any trains. At
each of these rungs the best of a variant go on from where they are, and the others are pruned. After Jamieson &
Talwalkar (2016), "Non-stochastic Best Arm Identification and Hyperparameter Optimization".
"""

import math
from collections.abc import Sequence

from tiedlm.config.base import Config
from tiedlm.run.rung import rung_step


class Halving(Config):
    """Of `reduction` candidates one goes on at each rung; the first is at `min_fraction` of a run."""

    reduction: int
    min_fraction: float

    @property
    def shares(self) -> tuple[float, ...]:
        """The part of a run at each rung, and 1, its end."""
        found: list[float] = []
        share = self.min_fraction
        while round(share, 6) < 1:
            found.append(share)
            share = round(share * self.reduction, 9)
        return (*found, 1.0)

    def entrants(self, num_candidates: int) -> list[int]:
        """How many candidates begin the way to each of `shares`: all, then so many fewer, and never none."""
        return [max(1, math.ceil(num_candidates / self.reduction**number)) for number in range(len(self.shares))]

    def whole_runs(self, num_candidates: int) -> float:
        """What all candidates take together, in whole runs."""
        return sum(
            entrants * (share - before)
            for entrants, share, before in zip(
                self.entrants(num_candidates), self.shares, (0.0, *self.shares), strict=False
            )
        )

    def steps(self, num_candidates: int, num_steps: int) -> int:
        """What all candidates take together in steps, of runs of `num_steps`."""
        ends = [rung_step(share, num_steps) for share in self.shares]
        return sum(
            entrants * (end - before)
            for entrants, end, before in zip(self.entrants(num_candidates), ends, (0, *ends), strict=False)
        )


def best(losses: Sequence[float], num: int) -> list[int]:
    """The places of the `num` lowest losses, in their order in the list; of equals the first, and none infinite."""
    finite = [place for place, loss in enumerate(losses) if loss < math.inf]
    return sorted(sorted(finite, key=lambda place: (losses[place], place))[:num])
