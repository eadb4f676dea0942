"""Draws a chart as SVG of a given width, and names its colours for the legend."""

from itertools import accumulate

from tiedlm.report.charts.chart import (
    MOST_MARKED,
    Chart,
    Curve,
    CurveChart,
    IntervalChart,
    Stack,
    StackChart,
    TrendChart,
)
from tiedlm.report.charts.markup import Markup, element
from tiedlm.report.charts.scale import Scale
from tiedlm.report.charts.svg_elements import WIDE, Frame, colour, line, point, polygon, svg, text
from tiedlm.report.charts.svg_intervals import draw_intervals
from tiedlm.report.charts.svg_trends import draw_trends


def draw(chart: Chart, width: int) -> Markup:
    """The chart as an SVG element."""
    match chart:
        case CurveChart():
            return _draw_curves(chart, width)
        case IntervalChart():
            return draw_intervals(chart, width)
        case StackChart():
            return _draw_stacks(chart, width)
        case TrendChart():
            return draw_trends(chart, width)


def _draw_curves(chart: CurveChart, width: int) -> Markup:
    frame = Frame(left=44, top=26, right=width - 20, bottom=246)
    samples = [sample for curve in chart.curves for sample in curve.samples]
    ends = [value for sample in samples for value in (sample.low, sample.high)]
    x = Scale.over([sample.x for sample in samples], frame.left, frame.right, margin=0.02)
    y = Scale.over([*ends, *([0.0] if chart.zero else [])], frame.bottom, frame.top)
    zero = [line(frame.left, y(0), frame.right, y(0), "zero")] if chart.zero else []
    return svg(
        chart.title,
        width,
        288,
        text(0, 12, f"{chart.y_label}; {chart.zero}" if chart.zero else chart.y_label),
        *frame.across(x, chart.x_words, at_most=5 if width < WIDE else 7),
        *frame.up(y, at_most=6),
        *zero,
        *(_band(curve, x, y) for curve in chart.curves),
        *(_curve(curve, x, y) for curve in chart.curves),
        text((frame.left + frame.right) / 2, frame.bottom + 36, chart.x_label, "middle"),
    )


def _band(curve: Curve, x: Scale, y: Scale) -> Markup:
    upper = [(x(sample.x), y(sample.high)) for sample in curve.samples]
    lower = [(x(sample.x), y(sample.low)) for sample in reversed(curve.samples)]
    return element("polygon", points=polygon([*upper, *lower]), class_=f"band {colour(curve.place)}")


def _curve(curve: Curve, x: Scale, y: Scale) -> Markup:
    points = [(x(sample.x), y(sample.mean)) for sample in curve.samples]
    mark = "mark" if len(points) <= MOST_MARKED else "mark hidden"
    marks = (
        point(across, up, 3.5, mark, f"{curve.name}, {sample.words}")
        for sample, (across, up) in zip(curve.samples, points, strict=True)
    )
    joined = element("polyline", points=polygon(points), class_="line")
    return element("g", joined, *marks, class_=colour(curve.place))


def _draw_stacks(chart: StackChart, width: int) -> Markup:
    pitch, bar = 50, 22
    largest = max(max(sum(stack.parts), stack.mark or 0) for stack in chart.stacks)
    x = Scale(0, largest or 1, 0, width - 2)
    rows = (_stack(chart, stack, pitch * row, bar, x, width) for row, stack in enumerate(chart.stacks))
    return svg(chart.title, width, pitch * len(chart.stacks), *rows)


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
    mark = [] if stack.mark is None else [_mark(chart, stack.name, stack.mark, top, bar, x)]
    return element(
        "g",
        text(0, top + 12, stack.name, class_="label"),
        text(width, top + 12, stack.words, "end", "figure"),
        *parts,
        *mark,
    )


def _mark(chart: StackChart, name: str, value: float, top: float, bar: float, x: Scale) -> Markup:
    title = element("title", f"{name}, {chart.mark}: {chart.written(value)}")
    return element("g", title, line(x(value), top + 17, x(value), top + 21 + bar, "zero"))


def legend(chart: Chart) -> list[tuple[str, str]]:
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
            return [(f"shaded s{number}", band.name) for number, band in enumerate(chart.bands)]
        case TrendChart():
            named = [(colour(trend.place), trend.name) for trend in chart.trends]
            return [*named, ("shaded s0", chart.band.name)]
