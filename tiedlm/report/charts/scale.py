"""A linear scale from values to pixels, and the round values for its ticks."""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Maps the value `low` to the pixel `start` and `high` to `end`, linearly."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float, margin: float = 0.05) -> "Scale":
        """A scale that holds every value, with a margin on both sides as a share of their range."""
        known = list(values)
        low, high = min(known, default=0.0), max(known, default=1.0)
        room = margin * (high - low) or max(abs(high), 1e-9) * 0.1
        return cls(low - room, high + room, start, end)

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, at_most: int) -> list[float]:
        """Multiples of 1, 2 or 5 times a power of ten within the range, at least one and no more than `at_most`."""
        span = self.high - self.low
        power = 10 ** math.floor(math.log10(span / max(at_most, 1)))
        for step in (power * factor for factor in (1, 2, 5, 10, 20, 50)):
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            if last - first < at_most:
                return [number * step for number in range(first, last + 1)]
        return []


def decimals_for(ticks: list[float], at_most: int = 9) -> int:
    """Decimals that tell neighbouring ticks apart."""
    gap = min((after - before for before, after in itertools.pairwise(ticks)), default=1.0)
    return min(max(0, -math.floor(math.log10(gap) + 1e-9)), at_most)
