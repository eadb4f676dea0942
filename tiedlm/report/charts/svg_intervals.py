"""Draws an interval chart as SVG: estimates with their intervals under each other."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, zip_longest

from tiedlm.report.charts.chart import Band, Estimate, IntervalChart
from tiedlm.report.charts.markup import Markup, element
from tiedlm.report.charts.scale import Scale, decimals_for
from tiedlm.report.charts.svg_elements import BOLD_LETTER, LETTER, WIDE, Frame, colour, line, point, svg, text
from tiedlm.report.charts.svg_marks import draw_whole_mark
from tiedlm.report.figures.text import wrapped


def draw_intervals(chart: IntervalChart, width: int) -> Markup:
    """Each estimate with its name and its figure beside it, or above it where there is less room."""
    names = max(len(estimate.name) for estimate in chart.estimates) * LETTER + 14
    figures = max(len(estimate.words) for estimate in chart.estimates) * LETTER + 14
    beside = width >= WIDE and names + figures < 0.62 * width
    rows = list(_rows(chart, beside, width))
    tops = [30.0, *accumulate((row.height for row in rows), initial=30.0)][1:]
    frame = Frame(names if beside else 8.0, tops[0], width - (figures if beside else 8.0), tops[-1])
    x = Scale.over(held_values(chart), frame.left, frame.right)
    ticks = x.ticks(4 if frame.right - frame.left < 360 else 7)
    decimals = decimals_for(ticks)
    return svg(
        chart.title,
        width,
        frame.bottom + 46,
        *(_shade(band, number, x, frame) for number, band in enumerate(chart.bands)),
        *frame.across(x, lambda tick: f"{tick:+.{decimals}f}" if tick else "0", len(ticks)),
        line(x(0), frame.top - 6, x(0), frame.bottom, "zero"),
        *_sides(chart, x, frame, width),
        *(row.draw(top, x, width) for row, top in zip(rows, tops, strict=False)),
        text((frame.left + frame.right) / 2, frame.bottom + 36, chart.x_label, "middle"),
    )


def _rows(chart: IntervalChart, beside: bool, width: int) -> "Iterator[_Beside | _Above | _Group]":
    """A row for each estimate, and one with the name of a group where that begins."""
    group = ""
    for estimate in chart.estimates:
        if estimate.group != group:
            group = estimate.group
            yield _Group(tuple(wrapped(group, int(width / BOLD_LETTER))))
        yield _Beside(estimate) if beside else _Above.fitting(estimate, width)


@dataclass(frozen=True)
class _Group:
    """The name of a group of estimates, below a line across the chart."""

    lines: tuple[str, ...]

    @property
    def height(self) -> float:
        return 16.0 * len(self.lines) + 10

    def draw(self, top: float, x: Scale, width: int) -> Markup:
        words = (text(0, top + 20 + 16 * number, said, class_="group") for number, said in enumerate(self.lines))
        cover = element("rect", x=0, y=top + 3, width=width, height=self.height - 3, class_="cover")
        return element("g", cover, line(0, top + 3, width, top + 3, "grid"), *words)


@dataclass(frozen=True)
class _Beside:
    """A row of an interval chart with its name on the left and its figure on the right."""

    estimate: Estimate
    height = 38.0

    def draw(self, top: float, x: Scale, width: int) -> Markup:
        y = top + self.height / 2
        name = text(0, y + 4, self.estimate.name, class_="label")
        return _estimate(self.estimate, y, x, name, text(width, y + 4, self.estimate.words, "end", "figure"))


@dataclass(frozen=True)
class _Above:
    """A row of an interval chart with its name above it, on as many lines as it takes, and then its figure."""

    estimate: Estimate
    lines: tuple[str, ...]
    is_figure_apart: bool

    @classmethod
    def fitting(cls, estimate: Estimate, width: int) -> "_Above":
        lines = tuple(wrapped(estimate.name, int(width / BOLD_LETTER)))
        needed = len(lines[-1]) * BOLD_LETTER + (len(estimate.words) + 3) * LETTER
        return cls(estimate, lines, needed > width)

    @property
    def height(self) -> float:
        return self.words_height + (16 if self.estimate.middle is None else 38)

    @property
    def words_height(self) -> float:
        """Of the lines with the name and the figure."""
        return 16.0 * (len(self.lines) + self.is_figure_apart)

    def draw(self, top: float, x: Scale, width: int) -> Markup:
        names = (text(0, top + 16 * (number + 1), words, class_="label") for number, words in enumerate(self.lines))
        last = top + self.words_height
        cover = element("rect", x=0, y=top + 4, width=width, height=self.words_height + 2, class_="cover")
        place = (0.0, "start") if self.is_figure_apart else (float(width), "end")
        figure = text(place[0], last, self.estimate.words, place[1], "figure")
        return _estimate(self.estimate, last + 17, x, cover, *names, figure)


def held_values(chart: IntervalChart) -> Iterator[float]:
    """Every value that an axis must hold."""
    yield 0.0
    for estimate in chart.estimates:
        yield from (*(estimate.interval or ()), *(estimate.whiskers or ()), *estimate.singles)
        yield from () if estimate.middle is None else (estimate.middle,)
    for band in chart.bands:
        yield from (band.low, band.high)


def _sides(chart: IntervalChart, x: Scale, frame: Frame, width: int) -> Iterator[Markup]:
    """What the two sides of 0 mean, each where it has room."""
    below, above = f"← {chart.below}", f"{chart.above} →"
    room = x(0) - 6, width - x(0) - 6
    if len(below) * LETTER <= room[0]:
        yield text(x(0) - 6, 14, below, "end")
    if len(above) * LETTER <= room[1]:
        yield text(x(0) + 6, 14, above)


def _shade(band: Band, number: int, x: Scale, frame: Frame) -> Markup:
    title = element("title", band.name)
    return element(
        "rect",
        title,
        x=x(band.low),
        y=frame.top - 6,
        width=x(band.high) - x(band.low),
        height=frame.bottom - frame.top + 6,
        class_=f"shade s{number}",
    )


def _estimate(estimate: Estimate, y: float, x: Scale, *words: Markup) -> Markup:
    """A mark on its interval, and below it the single values as small dots."""
    named = zip_longest(estimate.singles, estimate.singles_words, fillvalue="")
    singles = (point(x(float(value)), y + 9, 2.5, "single", words) for value, words in named)
    mark = draw_whole_mark(estimate, x, y)
    title = element("title", f"{estimate.name}: {estimate.words}")
    return element("g", title, *words, *mark[:-1], *singles, *mark[-1:], class_=colour(estimate.place))
