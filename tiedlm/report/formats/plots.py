"""The charts as PNG and SVG files, drawn with matplotlib, which nothing else needs."""

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tiedlm.comparison.comparison import Comparison
from tiedlm.config.base import ConfigError, Problem
from tiedlm.files import atomic_path
from tiedlm.report.charts.chart import Chart
from tiedlm.report.figures.text import one_line
from tiedlm.report.formats.plot_drawing import draw, height_of
from tiedlm.report.sections.all import SECTIONS
from tiedlm.report.sections.section import Section, all_charts

_FORMATS = ("png", "svg")
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
    """The charts of a comparison: see `write_charts`."""
    return write_charts(all_charts(comparison, sections), folder)


def write_charts(charts: Iterable[Chart], folder: Path) -> list[Path]:
    """Each chart as PNG and as SVG in `folder`; returns the files. Raises ConfigError, RunError("disk")."""
    require_matplotlib()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    written = []
    with mpl.rc_context(_STYLE):
        for chart in charts:
            figure = Figure(figsize=(7.2, height_of(chart)), layout="constrained")
            FigureCanvasAgg(figure)
            axes = figure.add_subplot()
            title = "\n".join(textwrap.wrap(one_line(chart.title), _MAX_TITLE_WIDTH))
            figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
            draw(chart, axes)
            for kind in _FORMATS:
                path = folder / f"{chart.key}.{kind}"
                with atomic_path(path) as partial:
                    figure.savefig(partial, format=kind, dpi=200, metadata=_METADATA[kind])
                written.append(path)
    return written


_METADATA: dict[str, dict[str, None]] = {"png": {"Software": None}, "svg": {"Date": None}}
"""The same comparison gives the same files."""
