"""Charts as SVG of a given width. Colours and strokes are the page's: see report.css."""

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from itertools import accumulate

from tiedlm.report.charts import Band, Curve, CurveChart, Estimate, IntervalChart, Stack, StackChart
from tiedlm.report.markup import Markup, element
from tiedlm.report.scale import Scale, decimals_for

NUM_COLOURS = 8
_WIDE = 480
"""From here on there is room for labels beside the marks."""
_LETTER = 6.6
"""About as wide as a letter of the axes' labels."""


def colour(place: int) -> str:
    """The class that gives a variant its colour."""
    return f"c{place % NUM_COLOURS}"


@singledispatch
def draw(chart: object, width: int) -> Markup:
    """The chart as an SVG element."""
    raise TypeError(type(chart).__name__)


def _svg(title: str, width: float, height: float, *children: Markup) -> Markup:
    box = {"viewBox": f"0 0 {width:g} {height:g}", "role": "img", "aria_label": title}
    return element("svg", *children, width=width, height=height, **box)


def _text(x: float, y: float, words: str, anchor: str = "start", class_: str = "axis") -> Markup:
    return element("text", words, x=x, y=y, text_anchor=anchor, class_=class_)


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def _polygon(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


@dataclass(frozen=True)
class _Frame:
    """The place for the marks, within the axes."""

    left: float
    top: float
    right: float
    bottom: float

    def across(self, scale: Scale, written: Callable[[float], str], at_most: int) -> Iterator[Markup]:
        """Grid lines for a horizontal axis, each with its value below."""
        for tick in scale.ticks(at_most):
            yield _line(scale(tick), self.top, scale(tick), self.bottom, "grid")
            yield _text(scale(tick), self.bottom + 16, written(tick), "middle")

    def up(self, scale: Scale, at_most: int) -> Iterator[Markup]:
        """Grid lines for a vertical axis, each with its value on the left."""
        ticks = scale.ticks(at_most)
        decimals = decimals_for(ticks)
        for tick in ticks:
            yield _line(self.left, scale(tick), self.right, scale(tick), "grid")
            yield _text(self.left - 6, scale(tick) + 4, f"{tick:.{decimals}f}", "end")


@draw.register
def _(chart: CurveChart, width: int) -> Markup:
    frame = _Frame(left=44, top=26, right=width - 20, bottom=246)
    samples = [sample for curve in chart.curves for sample in curve.samples]
    ends = [value for sample in samples for value in (sample.low, sample.high)]
    x = Scale.over([sample.x for sample in samples], frame.left, frame.right, margin=0.02)
    y = Scale.over([*ends, *([0.0] if chart.zero else [])], frame.bottom, frame.top)
    zero = [_line(frame.left, y(0), frame.right, y(0), "zero")] if chart.zero else []
    return _svg(
        chart.title,
        width,
        288,
        _text(0, 12, f"{chart.y_label}; {chart.zero}" if chart.zero else chart.y_label),
        *frame.across(x, chart.x_words, at_most=5 if width < _WIDE else 7),
        *frame.up(y, at_most=6),
        *zero,
        *(_band(curve, x, y) for curve in chart.curves),
        *(_curve(curve, x, y) for curve in chart.curves),
        _text((frame.left + frame.right) / 2, frame.bottom + 36, chart.x_label, "middle"),
    )


def _band(curve: Curve, x: Scale, y: Scale) -> Markup:
    upper = [(x(sample.x), y(sample.high)) for sample in curve.samples]
    lower = [(x(sample.x), y(sample.low)) for sample in reversed(curve.samples)]
    return element("polygon", points=_polygon([*upper, *lower]), class_=f"band {colour(curve.place)}")


def _curve(curve: Curve, x: Scale, y: Scale) -> Markup:
    points = [(x(sample.x), y(sample.mean)) for sample in curve.samples]
    radius, mark = (3.5, "mark") if len(points) <= 12 else (2, "mark small")
    marks = (
        element("circle", element("title", f"{curve.name}, {sample.words}"), cx=across, cy=up, r=radius, class_=mark)
        for sample, (across, up) in zip(curve.samples, points, strict=True)
    )
    line = element("polyline", points=_polygon(points), class_="line")
    return element("g", line, *marks, class_=colour(curve.place))


@draw.register
def _(chart: IntervalChart, width: int) -> Markup:
    names = max(len(estimate.name) for estimate in chart.estimates) * _LETTER + 14
    figures = max(len(estimate.words) for estimate in chart.estimates) * _LETTER + 14
    beside = width >= _WIDE and names + figures < 0.62 * width
    rows = [_Beside(estimate) if beside else _Above.fitting(estimate, width) for estimate in chart.estimates]
    tops = [30.0, *accumulate((row.height for row in rows), initial=30.0)][1:]
    frame = _Frame(names if beside else 8.0, tops[0], width - (figures if beside else 8.0), tops[-1])
    x = Scale.over(_held(chart), frame.left, frame.right)
    ticks = x.ticks(4 if frame.right - frame.left < 360 else 7)
    decimals = decimals_for(ticks)
    return _svg(
        chart.title,
        width,
        frame.bottom + 46,
        *(_shade(band, x, frame) for band in chart.bands),
        *frame.across(x, lambda tick: f"{tick:+.{decimals}f}" if tick else "0", len(ticks)),
        _line(x(0), frame.top - 6, x(0), frame.bottom, "zero"),
        *_sides(chart, x, frame, width),
        *(row.draw(top, x, width) for row, top in zip(rows, tops, strict=False)),
        _text((frame.left + frame.right) / 2, frame.bottom + 36, chart.x_label, "middle"),
    )


@dataclass(frozen=True)
class _Beside:
    """A row of an interval chart with its name on the left and its figure on the right."""

    estimate: Estimate
    height = 38.0

    def draw(self, top: float, x: Scale, width: int) -> Markup:
        y = top + self.height / 2
        name = _text(0, y + 4, self.estimate.name, class_="label")
        return _estimate(self.estimate, y, x, name, _text(width, y + 4, self.estimate.words, "end", "figure"))


@dataclass(frozen=True)
class _Above:
    """A row of an interval chart with its name above it, on as many lines as it takes, and then its figure."""

    estimate: Estimate
    lines: tuple[str, ...]
    is_figure_apart: bool

    @classmethod
    def fitting(cls, estimate: Estimate, width: int) -> "_Above":
        lines = tuple(textwrap.wrap(estimate.name, int(width / _LETTER)) or [""])
        return cls(estimate, lines, (len(lines[-1]) + len(estimate.words) + 3) * _LETTER > width)

    @property
    def height(self) -> float:
        return 16 * (len(self.lines) + self.is_figure_apart) + 38

    def draw(self, top: float, x: Scale, width: int) -> Markup:
        names = (_text(0, top + 16 * (line + 1), words, class_="label") for line, words in enumerate(self.lines))
        last = top + 16 * (len(self.lines) + self.is_figure_apart)
        place = (0.0, "start") if self.is_figure_apart else (float(width), "end")
        figure = _text(place[0], last, self.estimate.words, place[1], "figure")
        return _estimate(self.estimate, last + 17, x, *names, figure)


def _held(chart: IntervalChart) -> Iterator[float]:
    """Every value that an axis must hold."""
    yield 0.0
    for estimate in chart.estimates:
        yield from (estimate.middle, *(estimate.interval or ()), *estimate.singles)
    for band in chart.bands:
        yield from (band.low, band.high)


def _sides(chart: IntervalChart, x: Scale, frame: _Frame, width: int) -> Iterator[Markup]:
    """What the two sides of 0 mean, each where it has room."""
    below, above = f"← {chart.below}", f"{chart.above} →"
    room = x(0) - 6, width - x(0) - 6
    if len(below) * _LETTER <= room[0]:
        yield _text(x(0) - 6, 14, below, "end")
    if len(above) * _LETTER <= room[1]:
        yield _text(x(0) + 6, 14, above)


def _shade(band: Band, x: Scale, frame: _Frame) -> Markup:
    title = element("title", band.name)
    return element(
        "rect",
        title,
        x=x(band.low),
        y=frame.top - 6,
        width=x(band.high) - x(band.low),
        height=frame.bottom - frame.top + 6,
        class_="shade",
    )


def _estimate(estimate: Estimate, y: float, x: Scale, *words: Markup) -> Markup:
    """A dot on its interval, and below it the single values as small dots."""
    singles = (element("circle", cx=x(value), cy=y + 9, r=2.5, class_="single") for value in estimate.singles)
    ends = estimate.interval or ()
    return element(
        "g",
        element("title", f"{estimate.name}: {estimate.words}"),
        *words,
        *([_line(x(ends[0]), y, x(ends[1]), y, "interval")] if ends else []),
        *(_line(x(end), y - 5, x(end), y + 5, "interval") for end in ends),
        *singles,
        element("circle", cx=x(estimate.middle), cy=y, r=5, class_="mark"),
        class_=colour(estimate.place),
    )


@draw.register
def _(chart: StackChart, width: int) -> Markup:
    pitch, bar = 50, 22
    largest = max(max(sum(stack.parts), stack.mark or 0) for stack in chart.stacks)
    x = Scale(0, largest or 1, 0, width - 2)
    rows = (_stack(chart, stack, pitch * row, bar, x, width) for row, stack in enumerate(chart.stacks))
    return _svg(chart.title, width, pitch * len(chart.stacks), *rows)


def _stack(chart: StackChart, stack: Stack, top: float, bar: float, x: Scale, width: int) -> Markup:
    ends = [0.0, *accumulate(stack.parts)]
    parts = (
        element(
            "rect",
            element("title", f"{stack.name}, {name}: {chart.written(value)}"),
            x=x(start),
            y=top + 18,
            width=x(start + value) - x(start),
            height=bar,
            class_=f"part p{place}",
        )
        for place, (name, value, start) in enumerate(zip(chart.parts, stack.parts, ends, strict=False))
        if value
    )
    mark = [] if stack.mark is None else [_line(x(stack.mark), top + 17, x(stack.mark), top + 21 + bar, "zero")]
    return element(
        "g",
        _text(0, top + 12, stack.name, class_="label"),
        _text(width, top + 12, stack.words, "end", "figure"),
        *parts,
        *mark,
    )


def legend(chart: CurveChart | IntervalChart | StackChart) -> list[tuple[str, str]]:
    """What each colour of the chart stands for: (class, name)."""
    match chart:
        case CurveChart():
            return [(colour(curve.place), curve.name) for curve in chart.curves]
        case StackChart():
            marked = any(stack.mark is not None for stack in chart.stacks)
            return [
                *((f"p{place}", name) for place, name in enumerate(chart.parts)),
                *([("marked", chart.mark)] if marked else []),
            ]
        case IntervalChart():
            return [("shaded", band.name) for band in chart.bands]
