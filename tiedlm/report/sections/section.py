"""A part of a comparison beside its main figures: what it is called, its tables, and what it says at a glance."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tiedlm.comparison.comparison import Comparison
from tiedlm.report.charts.chart import Chart
from tiedlm.report.figures.table import Records


@dataclass(frozen=True)
class Part:
    """The terminal shows `remarks` at a glance (two sentences at most) and `records` among the details, with `notes`
    on how to read them.

    Where there is a screen for them, `charts` are shown too.
    """

    title: str
    records: Callable[[Comparison], Sequence[Records]]
    remarks: Callable[[Comparison], Iterable[str]]
    charts: Callable[[Comparison], Iterable[Chart]] = lambda comparison: ()
    notes: Callable[[Comparison], Iterable[str]] = lambda comparison: ()
