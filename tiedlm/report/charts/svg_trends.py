"""Draws a trend chart as SVG: values with their intervals over a logarithmic axis, and a line through them."""

import math
from collections.abc import Iterator

from tiedlm.report.charts.chart import TrendChart, TrendLine, TrendPoint
from tiedlm.report.charts.markup import Markup, element
from tiedlm.report.charts.scale import Scale
from tiedlm.report.charts.svg_elements import LETTER, Frame, colour, line, point, svg, text
from tiedlm.report.charts.svg_marks import draw_mark

_GAP = 16.0
"""Between the points of two variants at one place, in pixels."""


def draw_trends(chart: TrendChart, width: int) -> Markup:
    """Each place of the axis has a grid line of its own, named as far as there is room."""
    frame = Frame(left=52, top=46, right=width - 20, bottom=280)
    y = Scale.over(_held(chart), frame.bottom, frame.top)
    logs = [math.log2(place) for place in chart.places]
    x = Scale.over(logs, frame.left, frame.right, margin=0.09)
    low, high = y(chart.band.high), y(chart.band.low)
    shade, middle = element("title", chart.band.name), (len(chart.trends) - 1) / 2
    return svg(
        chart.title,
        width,
        322,
        text(0, 12, chart.y_label),
        *_sides(chart, width),
        element(
            "rect", shade, x=frame.left, y=low, width=frame.right - frame.left, height=high - low, class_="shade s0"
        ),
        *_places(chart, x, frame),
        *frame.up(y, at_most=6),
        line(frame.left, y(0), frame.right, y(0), "zero"),
        *(_trend(trend, (number - middle) * _GAP, x, y) for number, trend in enumerate(chart.trends)),
        text((frame.left + frame.right) / 2, frame.bottom + 36, chart.x_label, "middle"),
    )


def _held(chart: TrendChart) -> Iterator[float]:
    """Every value that the axis must hold."""
    yield from (0.0, chart.band.low, chart.band.high)
    for trend in chart.trends:
        yield from trend.line or ()
        for each in trend.points:
            yield from (each.middle, *(each.interval or ()), *each.singles)


def _sides(chart: TrendChart, width: int) -> Iterator[Markup]:
    """What the two sides of 0 mean; on two lines where they have no room on one."""
    above, below = f"↑ {chart.above}", f"↓ {chart.below}"
    if (len(above) + len(below) + 4) * LETTER <= width:
        yield text(0, 30, f"{above}    {below}".replace("    ", " \xa0 \xa0 "))
    else:
        yield text(0, 26, above)
        yield text(0, 40, below)


def _places(chart: TrendChart, x: Scale, frame: Frame) -> Iterator[Markup]:
    """A grid line for each place; a name that would run into the one before it is left out."""
    free_from = -math.inf
    for place in chart.places:
        across, words = x(math.log2(place)), chart.x_words(place)
        half = len(words) * LETTER / 2
        yield line(across, frame.top, across, frame.bottom, "grid")
        if across - half > free_from:
            yield text(across, frame.bottom + 16, words, "middle")
            free_from = across + half + LETTER


def _trend(trend: TrendLine, shift: float, x: Scale, y: Scale) -> Markup:
    """The points of a variant, beside those of the others at the same place, and its line."""
    places = [x(math.log2(each.x)) + shift for each in trend.points]
    ends = trend.line
    through = [line(places[0], y(ends[0]), places[-1], y(ends[1]), "trend")] if ends and places else []
    points = (_point(trend.name, each, place, y) for each, place in zip(trend.points, places, strict=True))
    return element("g", *through, *points, class_=colour(trend.place))


def _point(name: str, each: TrendPoint, x: float, y: Scale) -> Markup:
    ends = each.interval or ()
    return element(
        "g",
        element("title", f"{name}, {each.words}"),
        *([line(x, y(ends[0]), x, y(ends[1]), "interval")] if ends else []),
        *(line(x - 5, y(end), x + 5, y(end), "interval") for end in ends),
        *(point(x + 9, y(single), 2.5, "single", "") for single in each.singles),
        draw_mark(each.mark, x, y(each.middle)),
    )
