"""The charts as PNG and SVG files, drawn with matplotlib, which nothing else needs."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from tiedlm.comparison.comparison import Comparison
from tiedlm.config.base import ConfigError, Problem
from tiedlm.files import atomic_path
from tiedlm.report.charts.chart import MOST_MARKED, Chart, CurveChart, IntervalChart, StackChart
from tiedlm.report.charts.scale import Scale
from tiedlm.report.figures.text import one_line
from tiedlm.report.sections.all import SECTIONS
from tiedlm.report.sections.section import Section, all_charts

_FORMATS = ("png", "svg")
_COLOURS = ("#1f5fd0", "#c8500a", "#0a7d63", "#8a3ab9", "#b3246e", "#7a6400", "#2b7f9e", "#6b6f76")
_PART_COLOURS = ("#35506f", "#7ea0c0", "#4d7a63", "#d3b983", "#8d8577", "#d9a9ad", "#5f5670")
_BAND_STYLES: tuple[dict[str, Any], ...] = (
    {"facecolor": "#8a847a", "alpha": 0.2, "linewidth": 0},
    {"facecolor": "none", "edgecolor": "#625d55", "linestyle": "--", "linewidth": 1},
)
_MAX_TITLE_WIDTH = 80
"""Letters on a line of a title."""
_STYLE: Any = {
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#e5e0d8",
    "svg.fonttype": "none",
    "svg.hashsalt": "tiedlm",
    "text.parse_math": False,  # a name with two $ in it is a name
    "font.size": 10,
}


def require_matplotlib() -> None:
    """Raise ConfigError with the way out where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        way_out = "needs matplotlib: pip install 'tiedlm[plots]' (--html draws the same charts without it)"
        raise ConfigError(Problem("--plots", way_out)) from None


def write_plots(comparison: Comparison, folder: Path, sections: Sequence[Section] = SECTIONS) -> list[Path]:
    """Each chart as PNG and as SVG in `folder`; returns the files. Raises ConfigError, RunError("disk")."""
    require_matplotlib()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    written = []
    with mpl.rc_context(_STYLE):
        for chart in all_charts(comparison, sections):
            figure = Figure(figsize=(7.2, _height(chart)), layout="constrained")
            FigureCanvasAgg(figure)
            axes = figure.add_subplot()
            title = "\n".join(textwrap.wrap(one_line(chart.title), _MAX_TITLE_WIDTH))
            figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
            _draw(chart, axes)
            for kind in _FORMATS:
                path = folder / f"{chart.key}.{kind}"
                with atomic_path(path) as partial:
                    figure.savefig(partial, format=kind, dpi=200, metadata=_METADATA[kind])
                written.append(path)
    return written


_METADATA: dict[str, dict[str, None]] = {"png": {"Software": None}, "svg": {"Date": None}}
"""The same comparison gives the same files."""


def _height(chart: Chart) -> float:
    match chart:
        case IntervalChart():
            return 1.8 + 0.42 * len(chart.estimates)
        case StackChart():
            return 1.7 + 0.45 * len(chart.stacks)
        case CurveChart():
            return 4.0


def _draw(chart: Chart, axes: Any) -> None:
    match chart:
        case CurveChart():
            _draw_curves(chart, axes)
        case IntervalChart():
            _draw_intervals(chart, axes)
        case StackChart():
            _draw_stacks(chart, axes)


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
    for row, estimate in enumerate(chart.estimates):
        colour, y = _COLOURS[estimate.place % len(_COLOURS)], -float(row)
        if estimate.interval:
            low, high = estimate.interval
            axes.errorbar(
                estimate.middle,
                y,
                xerr=[[estimate.middle - low], [high - estimate.middle]],
                color=colour,
                capsize=3,
                linewidth=1.6,
            )
        axes.plot(estimate.singles, [y - 0.22] * len(estimate.singles), "o", color=colour, alpha=0.4, markersize=3)
        axes.plot([estimate.middle], [y], "o", color=colour, markersize=6)
    axes.set_yticks([-float(row) for row in range(len(chart.estimates))])
    named = [f"{one_line(estimate.name)}\n{one_line(estimate.words)}" for estimate in chart.estimates]
    axes.set_yticklabels(named, fontsize=8)
    axes.set_ylim(-len(chart.estimates) + 0.4, 0.6)
    axes.grid(visible=False, axis="y")
    sides = f"below 0 {chart.below}, above 0 {chart.above}"
    axes.set_xlabel(f"{one_line(chart.x_label)}\n{one_line(sides)}", fontsize=9)
    _legend(axes, [(band.name, style) for band, style in zip(chart.bands, _BAND_STYLES, strict=False)])


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
