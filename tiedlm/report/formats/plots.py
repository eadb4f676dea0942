"""Charts as files, drawn with matplotlib, which is not needed for anything else."""

import textwrap
from collections.abc import Iterator
from functools import singledispatch
from itertools import accumulate
from pathlib import Path
from typing import Any

from tiedlm.comparison.comparison import Comparison
from tiedlm.config.base import ConfigError, Problem
from tiedlm.files import atomic_path
from tiedlm.report.charts.chart import CurveChart, IntervalChart, StackChart
from tiedlm.report.charts.scale import Scale
from tiedlm.report.figures.text import one_line
from tiedlm.report.sections.training_curves import charts

_FORMATS = ("png", "svg")
_COLOURS = ("#1f5fd0", "#c8500a", "#0a7d63", "#8a3ab9", "#b3246e", "#7a6400", "#2b7f9e", "#6b6f76")
_PARTS = ("#35506f", "#7ea0c0", "#4d7a63", "#d3b983", "#8d8577", "#d9a9ad", "#5f5670")
_BANDS: tuple[dict[str, Any], ...] = (
    {"facecolor": "#8a847a", "alpha": 0.2, "linewidth": 0},
    {"facecolor": "none", "edgecolor": "#625d55", "linestyle": "--", "linewidth": 1},
)
_TITLE = 80
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


def write_plots(comparison: Comparison, folder: Path) -> list[Path]:
    """Each chart as PNG and as SVG in `folder`; returns the files. Raises ConfigError, RunError("disk")."""
    require_matplotlib()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    written = []
    with mpl.rc_context(_STYLE):
        for chart in charts(comparison):
            figure = Figure(figsize=(7.2, _height(chart)), layout="constrained")
            FigureCanvasAgg(figure)
            axes = figure.add_subplot()
            title = "\n".join(textwrap.wrap(one_line(chart.title), _TITLE))
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


def _height(chart: object) -> float:
    match chart:
        case IntervalChart():
            return 1.8 + 0.42 * len(chart.estimates)
        case StackChart():
            return 1.7 + 0.45 * len(chart.stacks)
        case _:
            return 4.0


@singledispatch
def _draw(chart: object, axes: Any) -> None:
    raise TypeError(type(chart).__name__)


@_draw.register
def _(chart: CurveChart, axes: Any) -> None:
    for curve in chart.curves:
        colour, x = _COLOURS[curve.place % len(_COLOURS)], [sample.x for sample in curve.samples]
        lows, highs = [sample.low for sample in curve.samples], [sample.high for sample in curve.samples]
        axes.fill_between(x, lows, highs, color=colour, alpha=0.16, linewidth=0)
        axes.plot(x, [sample.mean for sample in curve.samples], color=colour, marker="o", markersize=3, linewidth=1.6)
    axes.xaxis.set_major_formatter(lambda value, _: chart.x_words(value))
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    if chart.zero:
        axes.axhline(0, color="#4a463f", linewidth=1)
    _key(axes, [(curve.name, {"color": _COLOURS[curve.place % len(_COLOURS)]}) for curve in chart.curves])


@_draw.register
def _(chart: IntervalChart, axes: Any) -> None:
    for band, look in zip(chart.bands, _BANDS, strict=False):
        axes.axvspan(band.low, band.high, **look)
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
    _key(axes, [(band.name, look) for band, look in zip(chart.bands, _BANDS, strict=False)])


@_draw.register
def _(chart: StackChart, axes: Any) -> None:
    rows = range(len(chart.stacks))
    for place in range(len(chart.parts)):
        starts = [list(accumulate(stack.parts, initial=0.0))[place] for stack in chart.stacks]
        values = [stack.parts[place] for stack in chart.stacks]
        axes.barh([-row for row in rows], values, left=starts, height=0.6, color=_PARTS[place % len(_PARTS)])
    for row, stack in enumerate(chart.stacks):
        if stack.mark is not None:
            axes.plot([stack.mark] * 2, [-row - 0.38, -row + 0.38], color="#4a463f", linewidth=1.5)
    axes.set_yticks([-row for row in rows])
    axes.set_yticklabels([one_line(f"{stack.name}, {stack.words}") for stack in chart.stacks], fontsize=8)
    axes.set_xlim(0, axes.get_xlim()[1])
    axes.set_xticks([chart.unit * tick for tick in Scale(0, axes.get_xlim()[1] / chart.unit, 0, 1).ticks(5)])
    axes.xaxis.set_major_formatter(lambda value, _: chart.written(value))
    axes.grid(visible=False, axis="y")
    named = [(name, {"color": _PARTS[place % len(_PARTS)]}) for place, name in enumerate(chart.parts)]
    _key(axes, [*named, *_mark(chart)])


def _mark(chart: StackChart) -> Iterator[tuple[str, dict[str, Any]]]:
    if any(stack.mark is not None for stack in chart.stacks):
        yield chart.mark, {"color": "#4a463f"}


def _key(axes: Any, named: list[tuple[str, dict[str, Any]]]) -> None:
    """What the colours stand for, above the axes' frame so that it covers nothing."""
    from matplotlib.patches import Patch

    handles = [Patch(label=one_line(name), **look) for name, look in named]
    if handles:
        axes.figure.legend(handles=handles, loc="outside lower left", ncols=3, fontsize=8, frameon=False)
