"""Draws charts on the axes of matplotlib."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from tiedlm.report.charts.chart import (
    MOST_MARKED,
    Chart,
    CurveChart,
    Estimate,
    IntervalChart,
    Mark,
    StackChart,
    TrendChart,
    TrendLine,
)
from tiedlm.report.charts.scale import Scale
from tiedlm.report.figures.text import one_line, wrapped

_COLOURS = ("#1f5fd0", "#c8500a", "#0a7d63", "#8a3ab9", "#b3246e", "#7a6400", "#2b7f9e", "#6b6f76")
_PART_COLOURS = ("#35506f", "#7ea0c0", "#4d7a63", "#d3b983", "#8d8577", "#d9a9ad", "#5f5670")
_BAND_STYLES: tuple[dict[str, Any], ...] = (
    {"facecolor": "#8a847a", "alpha": 0.2, "linewidth": 0},
    {"facecolor": "none", "edgecolor": "#625d55", "linestyle": "--", "linewidth": 1},
)
_MARKS: dict[Mark, str] = {
    "dot": "o",
    "ring": "o",
    "square": "s",
    "left": "<",
    "right": ">",
    "up": "^",
    "down": "v",
    "diamond": "D",
}
_GROUP_WIDTH, _NAME_WIDTH = 62, 34
"""Letters on a line of the name of a group, and of an estimate."""


def height_of(chart: Chart) -> float:
    """Of the whole figure, in inches."""
    match chart:
        case IntervalChart():
            return 1.8 + 0.42 * len(_rows(chart))
        case StackChart():
            return 1.7 + 0.45 * len(chart.stacks)
        case CurveChart() | TrendChart():
            return 4.0


def draw(chart: Chart, axes: Any) -> None:
    """Draw a chart with its legend on axes that are still empty."""
    match chart:
        case CurveChart():
            _draw_curves(chart, axes)
        case IntervalChart():
            _draw_intervals(chart, axes)
        case StackChart():
            _draw_stacks(chart, axes)
        case TrendChart():
            _draw_trends(chart, axes)


def _draw_curves(chart: CurveChart, axes: Any) -> None:
    for curve in chart.curves:
        colour, x = _COLOURS[curve.place % len(_COLOURS)], [sample.x for sample in curve.samples]
        lows, highs = [sample.low for sample in curve.samples], [sample.high for sample in curve.samples]
        axes.fill_between(x, lows, highs, color=colour, alpha=0.16, linewidth=0)
        marker = "o" if len(x) <= MOST_MARKED else ""
        means = [sample.mean for sample in curve.samples]
        axes.plot(x, means, color=colour, marker=marker, markersize=3, linewidth=1.6)
    axes.xaxis.set_major_formatter(lambda value, _: chart.x_words(value))
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    if chart.zero:
        axes.axhline(0, color="#4a463f", linewidth=1)
    _legend(axes, [(curve.name, {"color": _COLOURS[curve.place % len(_COLOURS)]}) for curve in chart.curves])


def _draw_intervals(chart: IntervalChart, axes: Any) -> None:
    for band, style in zip(chart.bands, _BAND_STYLES, strict=False):
        axes.axvspan(band.low, band.high, **style)
    axes.axvline(0, color="#4a463f", linewidth=1)
    rows = _rows(chart)
    for row, shown in enumerate(rows):
        if isinstance(shown, str):
            words = "\n".join(wrapped(shown, _GROUP_WIDTH))
            place = axes.get_yaxis_transform()
            axes.text(
                0.01, -row, words, transform=place, va="center", fontsize=8, fontweight="bold", backgroundcolor="w"
            )
        else:
            _draw_estimate(shown, -float(row), axes)
    named = {-float(row): shown for row, shown in enumerate(rows) if not isinstance(shown, str)}
    axes.set_yticks(list(named))
    axes.set_yticklabels(map(_label, named.values()), fontsize=8)
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    axes.grid(visible=False, axis="y")
    sides = f"below 0 {chart.below}, above 0 {chart.above}"
    axes.set_xlabel(f"{one_line(chart.x_label)}\n{one_line(sides)}", fontsize=9)
    _legend(axes, [(band.name, style) for band, style in zip(chart.bands, _BAND_STYLES, strict=False)])


def _rows(chart: IntervalChart) -> list[Estimate | str]:
    """The estimates from top to bottom, and before each group its name."""
    rows: list[Estimate | str] = []
    group = ""
    for estimate in chart.estimates:
        if estimate.group != group:
            group = estimate.group
            rows.append(group)
        rows.append(estimate)
    return rows


def _label(estimate: Estimate) -> str:
    """The name, on as many lines as leave room for the plot, and the figure."""
    return "\n".join([*wrapped(estimate.name, _NAME_WIDTH), one_line(estimate.words)])


def _draw_estimate(estimate: Estimate, y: float, axes: Any) -> None:
    """A mark on its interval, and below it the single values."""
    colour = _COLOURS[estimate.place % len(_COLOURS)]
    axes.plot(estimate.singles, [y - 0.22] * len(estimate.singles), "o", color=colour, alpha=0.4, markersize=3)
    if estimate.middle is None:
        return
    middle = estimate.middle
    if estimate.whiskers:
        low, high = estimate.whiskers
        axes.plot([low, high], [y, y], color=colour, linestyle="--", marker="|", linewidth=1.2)
    if estimate.interval and estimate.mark == "diamond":
        low, high = estimate.interval
        axes.fill([low, middle, high, middle], [y, y + 0.2, y, y - 0.2], color=colour, linewidth=0)
        return
    if estimate.interval:
        low, high = estimate.interval
        axes.errorbar(middle, y, xerr=[[middle - low], [high - middle]], color=colour, capsize=3, linewidth=1.6)
    axes.plot([middle], [y], _MARKS[estimate.mark], markersize=6, **_filled(estimate.mark, colour))


def _filled(mark: Mark, colour: str) -> dict[str, Any]:
    return {"color": colour, "markerfacecolor": "white" if mark == "ring" else colour}


def _draw_trends(chart: TrendChart, axes: Any) -> None:
    axes.axhspan(chart.band.low, chart.band.high, **_BAND_STYLES[0])
    axes.axhline(0, color="#4a463f", linewidth=1)
    for number, trend in enumerate(chart.trends):
        _draw_trend(trend, 2 ** (0.06 * (number - (len(chart.trends) - 1) / 2)), axes)
    axes.set_xscale("log", base=2)
    axes.set_xticks(chart.places, labels=[chart.x_words(place) for place in chart.places])
    axes.minorticks_off()
    axes.set_xlabel(one_line(chart.x_label))
    axes.set_ylabel(f"{one_line(chart.y_label)}\n{one_line(chart.below)}, {one_line(chart.above)}", fontsize=8)
    named = [(trend.name, {"color": _COLOURS[trend.place % len(_COLOURS)]}) for trend in chart.trends]
    _legend(axes, [*named, (chart.band.name, _BAND_STYLES[0])])


def _draw_trend(trend: TrendLine, shift: float, axes: Any) -> None:
    """The points of a variant, a little beside those of the others, and its line."""
    colour = _COLOURS[trend.place % len(_COLOURS)]
    x = [point.x * shift for point in trend.points]
    if trend.line and x:
        axes.plot([x[0], x[-1]], trend.line, color=colour, linestyle="--", linewidth=1.2)
    for across, point in zip(x, trend.points, strict=True):
        if point.interval:
            ends = [[point.middle - point.interval[0]], [point.interval[1] - point.middle]]
            axes.errorbar(across, point.middle, yerr=ends, color=colour, capsize=3, linewidth=1.6)
        axes.plot([across], [point.middle], _MARKS[point.mark], markersize=6, **_filled(point.mark, colour))


def _draw_stacks(chart: StackChart, axes: Any) -> None:
    rows = range(len(chart.stacks))
    colours = [_PART_COLOURS[place % len(_PART_COLOURS)] for place in range(len(chart.parts))]
    for place, colour in enumerate(colours):
        starts = [list(accumulate(stack.parts, initial=0.0))[place] for stack in chart.stacks]
        values = [stack.parts[place] for stack in chart.stacks]
        axes.barh([-row for row in rows], values, left=starts, height=0.6, color=colour)
    for row, stack in enumerate(chart.stacks):
        if stack.mark is not None:
            axes.plot([stack.mark] * 2, [-row - 0.38, -row + 0.38], color="#4a463f", linewidth=1.5)
    axes.set_yticks([-row for row in rows])
    axes.set_yticklabels([one_line(f"{stack.name}, {stack.words}") for stack in chart.stacks], fontsize=8)
    axes.set_xlim(0, axes.get_xlim()[1])
    axes.set_xticks([chart.unit * tick for tick in Scale(0, axes.get_xlim()[1] / chart.unit, 0, 1).ticks(5)])
    axes.xaxis.set_major_formatter(lambda value, _: chart.written(value))
    axes.grid(visible=False, axis="y")
    named = [(name, {"color": colour}) for name, colour in zip(chart.parts, colours, strict=True)]
    _legend(axes, [*named, *_mark_legend(chart)])


def _mark_legend(chart: StackChart) -> Iterator[tuple[str, dict[str, Any]]]:
    if any(stack.mark is not None for stack in chart.stacks):
        yield chart.mark, {"color": "#4a463f"}


def _legend(axes: Any, named: list[tuple[str, dict[str, Any]]]) -> None:
    """What the colours stand for, above the axes' frame so that it covers nothing."""
    from matplotlib.patches import Patch

    handles = [Patch(label=one_line(name), **style) for name, style in named]
    if handles:
        axes.figure.legend(handles=handles, loc="outside lower left", ncols=3, fontsize=8, frameon=False)
