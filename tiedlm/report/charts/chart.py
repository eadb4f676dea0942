"""Charts as data, for SVG and matplotlib to draw: curves, intervals, trends, stacked bars."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from tiedlm.comparison.verdict import rounded

MOST_MARKED = 12
"""A curve of more points is a line without dots; on the page one stands where the pointer is."""


@dataclass(frozen=True)
class Sample:
    """A point of a curve: the mean over seeds, and the smallest and largest of them; `words` is its tooltip."""

    x: float
    mean: float
    low: float
    high: float
    words: str


@dataclass(frozen=True)
class Curve:
    """A line with a band around it; `place` decides its colour (see `colour_places`)."""

    name: str
    place: int
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class CurveChart:
    """Lines over a common axis; `zero` is named where the sign of a value matters."""

    key: str
    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    zero: str = ""
    x_words: Callable[[float], str] = field(default=lambda value: rounded(round(value)))


Mark = Literal["dot", "ring", "square", "left", "right", "up", "down", "diamond"]
"""What stands at an estimate's value: triangles point to the side favoured, a diamond is as wide as its interval."""


@dataclass(frozen=True)
class Estimate:
    """A value with its interval, and the value of each seed behind it; `words` are both as text.

    Without a value (null) there is only its row with the words. `singles_words` are the tooltips of the single values,
    where they have some. `whiskers` are an interval beyond `interval`, drawn as a dashed line. Estimates that follow
    each other with one `group` stand below its name.
    """

    name: str
    place: int
    words: str
    middle: float | None
    interval: tuple[float, float] | None
    singles: tuple[float, ...] = ()
    singles_words: tuple[str, ...] = ()
    mark: Mark = "dot"
    whiskers: tuple[float, float] | None = None
    group: str = ""


@dataclass(frozen=True)
class Band:
    """A range around 0 to compare estimates with."""

    name: str
    low: float
    high: float


@dataclass(frozen=True)
class IntervalChart:
    """Estimates under each other, on an axis whose two sides have a name each."""

    key: str
    title: str
    x_label: str
    below: str
    above: str
    estimates: tuple[Estimate, ...]
    bands: tuple[Band, ...] = ()


@dataclass(frozen=True)
class Stack:
    """A bar of parts, in the order of the chart's; `words` is their sum as text, `mark` another value to show on it."""

    name: str
    words: str
    parts: tuple[float, ...]
    mark: float | None = None


@dataclass(frozen=True)
class StackChart:
    """Stacked bars under each other; the ticks of their axis are round multiples of `unit`."""

    key: str
    title: str
    parts: tuple[str, ...]
    stacks: tuple[Stack, ...]
    written: Callable[[float], str]
    mark: str = ""
    unit: float = 1.0


@dataclass(frozen=True)
class TrendPoint:
    """A value at a place on the axis, with its interval and the value of each seed; `words` is its tooltip."""

    x: float
    middle: float
    interval: tuple[float, float] | None
    singles: tuple[float, ...]
    words: str
    mark: Mark


@dataclass(frozen=True)
class TrendLine:
    """Points of one name, and the straight line through them from the first to the last; null where there is none."""

    name: str
    place: int
    points: tuple[TrendPoint, ...]
    line: tuple[float, float] | None


@dataclass(frozen=True)
class TrendChart:
    """Values with intervals over a logarithmic axis, whose two sides of 0 have a name each."""

    key: str
    title: str
    x_label: str
    y_label: str
    below: str
    above: str
    trends: tuple[TrendLine, ...]
    band: Band
    x_words: Callable[[float], str]

    @property
    def places(self) -> list[float]:
        """Where there are points, from left to right."""
        return sorted({point.x for trend in self.trends for point in trend.points})


Chart = CurveChart | IntervalChart | StackChart | TrendChart
