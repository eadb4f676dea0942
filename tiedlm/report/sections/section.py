"""What a section of a report is: one question about a comparison, and all that any format shows of its answer."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tiedlm.comparison.comparison import Comparison
from tiedlm.report.charts.chart import Band, Chart, IntervalChart
from tiedlm.report.charts.differences import difference_chart
from tiedlm.report.figures.long_table import Figure
from tiedlm.report.figures.table import Table

MAX_VARIANTS_AT_A_GLANCE = 3
"""A remark names no more variants than this."""


def nothing(comparison: Comparison, *_: Any) -> tuple[()]:
    """For a section without tables, charts, remarks, notes or figures."""
    return ()


@dataclass(frozen=True)
class Section:
    """One subject beside the main table, the same for every format; a function yields nothing where there is nothing.

    `at_a_glance` are short sentences, one for each thing that belongs on the one screen beside the verdict, `remarks`
    those of the details and of every other format, `tables` and `charts` the details, `notes` how to read them or why
    they are missing, `figures` the lines of the CSV on one variant, by its name (each names it again; seed None: all
    seeds), and `bands` ranges around 0 that the main chart holds every difference against.

    The other fields are for single formats. HTML draws the first `num_charts_side_by_side` charts in rows of two, puts
    `caption` below the charts and `placeholder` where there are none; where `tables_repeat_charts`, it folds them away.
    An appendix is about the models and not about their results: the terminal shows it last, Markdown leaves it out.
    """

    title: str
    at_a_glance: Callable[[Comparison], Iterable[str]] = nothing
    remarks: Callable[[Comparison], Iterable[str]] = nothing
    tables: Callable[[Comparison], Iterable[Table]] = nothing
    charts: Callable[[Comparison], Iterable[Chart]] = nothing
    notes: Callable[[Comparison], Iterable[str]] = nothing
    figures: Callable[[Comparison, str], Iterable[Figure]] = nothing
    bands: Callable[[Comparison], Iterable[Band]] = nothing
    num_charts_side_by_side: int = 0
    caption: str = ""
    placeholder: str = ""
    tables_repeat_charts: bool = False
    is_appendix: bool = False


def main_chart(comparison: Comparison, sections: Sequence[Section]) -> IntervalChart | None:
    """The chart of differences with the bands of every section; None where there is no difference."""
    return difference_chart(comparison, [band for section in sections for band in section.bands(comparison)])


def all_charts(comparison: Comparison, sections: Sequence[Section]) -> Iterator[Chart]:
    """The main chart, then those of each section."""
    chart = main_chart(comparison, sections)
    if chart is not None:
        yield chart
    for section in sections:
        yield from section.charts(comparison)
