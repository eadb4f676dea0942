"""The values that a search may try of each setting: numbers between two ends, or a list. Free of torch."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from pydantic import model_validator

from tiedlm.config.base import Config, ConfigError, Positive, Problem, Raw, check, parse
from tiedlm.config.problems import shown
from tiedlm.streams import stream_seed

DIGITS = 4
"""Significant digits of a number between two ends: what is drawn is what is run, stored and shown."""


class Range(Config):
    """The numbers from `low` to `high`, both among them."""

    low: float
    """The smallest number."""
    high: float
    """The largest."""
    log: bool = False
    """Whether each doubling is as likely as any other, and not each difference."""
    step: Positive | None = None
    """Distance of the numbers from each other; null: any number. From a whole one in whole steps they are whole."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        check(self.low < self.high, f"low {self.low:g} must be below high {self.high:g}")
        check(not self.log or self.low > 0, f"low {self.low:g}: must be above 0 where log: true")
        check(not self.log or self.step is None, "give log: true or a step, not both")
        check(self.step is None or self.low + self.step <= self.high, f"step {self.step} leads beyond high")
        return self

    @property
    def size(self) -> int | None:
        """How many numbers there are; None of a range without steps."""
        return None if self.step is None else math.floor(round((self.high - self.low) / self.step, 6)) + 1

    def at(self, place: float) -> float | int:
        """The number at a place from 0 to 1 (excluded)."""
        if self.step is not None and self.size is not None:
            return self._whole(round(self.low + int(place * self.size) * self.step, 12))
        if self.log:
            return self.rounded(math.exp(math.log(self.low) + place * math.log(self.high / self.low)))
        return self.rounded(self.low + place * (self.high - self.low))

    def rounded(self, number: float) -> float | int:
        """A number as it is run; of a range without steps to four significant digits, and not beyond its ends."""
        if self.step is not None:
            return self._whole(round(number, 12))
        return min(max(float(f"{number:.{DIGITS}g}"), self.low), self.high)

    def ends(self) -> list[Any]:
        """The smallest and the largest."""
        last = self.high if self.size is None or self.step is None else self.low + (self.size - 1) * self.step
        return [self.rounded(self.low), self.rounded(last)]

    def holds(self, value: object) -> bool:
        """Whether a value is one of the numbers."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            return False
        steps = 0.0 if self.step is None else (value - self.low) / self.step
        return math.isclose(steps, round(steps), abs_tol=1e-6)

    def share(self, number: float) -> float:
        """How far a number is from the low end, as a part of the range on its scale."""
        if self.log:
            return math.log(number / self.low) / math.log(self.high / self.low)
        return (number - self.low) / (self.high - self.low)

    def _whole(self, number: float) -> float | int:
        assert self.step is not None
        return int(number) if self.step.is_integer() and self.low.is_integer() else number


@dataclass(frozen=True)
class Choices:
    """A list of values, each as likely as any other."""

    values: tuple[Any, ...]

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.values)

    def at(self, place: float) -> Any:
        """The value at a place from 0 to 1 (excluded)."""
        return self.values[int(place * len(self.values))]

    def ends(self) -> list[Any]:
        """All of them."""
        return list(self.values)

    def holds(self, value: object) -> bool:
        """Whether a value is one of them."""
        return value in self.values


_MOST_DRAWS = 100_000

Space = Mapping[str, Range | Choices]
"""What may be tried, by dotted key."""


def dimension(raw: Any, place: str) -> Range | Choices:
    """What a file gives for one setting; raises ConfigError under the key `place`."""
    if isinstance(raw, list) and raw:
        return Choices(tuple(raw))
    if not isinstance(raw, dict):
        message = "must be {low: .., high: ..}, with log: true or a step where wanted, or a list of values to choose of"
        raise ConfigError(Problem(place, f"{shown(raw)}: {message}"))
    return parse(Range, raw, prefix=place)


def keys_in(raw: Raw, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The dotted keys of a space with what stands there; a mapping with `low` or `high` is a range."""
    for key, value in raw.items():
        if isinstance(value, dict) and value and not {"low", "high"} & value.keys():
            yield from keys_in(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def draw(space: Space, seed: int, number: int) -> dict[str, Any]:
    """The settings of draw `number`. A key's value hangs on seed, key and number alone, not on what else is tuned."""
    return {key: one.at(stream_seed(seed, "tune", key, number) / 2**63) for key, one in space.items()}


def distinct_draws(spaces: Mapping[str, Space], seed: int, num: int) -> dict[str, list[dict[str, Any]]]:
    """For each variant `num` points, of the same draws: those are passed over that any of the variants had before.

    Raises ConfigError where a space holds fewer points, or so few that no more are found.
    """
    for space in spaces.values():
        size = size_of(space)
        if size is not None and size < num:
            raise ConfigError(
                Problem("tune.trials", f"{num:,}, of a space with {size:,} points: a grid tries them all")
            )
    points: dict[str, list[dict[str, Any]]] = {name: [] for name in spaces}
    for number in range(_MOST_DRAWS):
        drawn = {name: draw(space, seed, number) for name, space in spaces.items()}
        if not any(drawn[name] in points[name] for name in spaces):
            for name, point in drawn.items():
                points[name].append(point)
        if all(len(some) == num for some in points.values()):
            return points
    raise ConfigError(Problem("tune.trials", f"{num:,} points that differ were not found: try fewer, or a grid"))


def size_of(space: Space) -> int | None:
    """How many points a space has; None where there is no end of them."""
    sizes: Sequence[int | None] = [one.size for one in space.values()]
    return None if None in sizes else math.prod(size for size in sizes if size is not None)
