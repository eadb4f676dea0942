"""Every format of a comparison, whether of variants or of an experiment with recipes or budgets.

Each format is imported once it is asked for: printing needs none of the others.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.parts.document import PartsComparison

if TYPE_CHECKING:
    from rich.console import Console

    from tiedlm.report.charts.chart import Chart

Document = Comparison | PartsComparison


def has_figures(document: Document) -> bool:
    """Whether a run has finished; else there is only its verdict to say."""
    if isinstance(document, PartsComparison):
        return any(part.comparison and part.comparison.variants for part in document.parts)
    return bool(document.variants)


def render(document: Document, console: "Console", details: bool, stored_in: Path | None, command: str) -> None:
    """Print it on a terminal, the verdict last; see `render_comparison`."""
    if isinstance(document, PartsComparison):
        from tiedlm.report.formats.terminal_parts import render_parts

        render_parts(document, console, details, stored_in=stored_in, command=command)
    else:
        from tiedlm.report.formats.terminal import render_comparison

        render_comparison(document, console, details, stored_in=stored_in, command=command)


def as_html(document: Document) -> str:
    """One page with charts."""
    if isinstance(document, PartsComparison):
        from tiedlm.report.formats.html_parts import parts_html

        return parts_html(document)
    from tiedlm.report.formats.html import comparison_html

    return comparison_html(document)


def as_markdown(document: Document) -> str:
    """GitHub Markdown."""
    if isinstance(document, PartsComparison):
        from tiedlm.report.formats.markdown_parts import parts_markdown

        return parts_markdown(document)
    from tiedlm.report.formats.markdown import comparison_markdown

    return comparison_markdown(document)


def as_csv(document: Document) -> str:
    """One long table, a line for each figure."""
    if isinstance(document, PartsComparison):
        from tiedlm.report.formats.csv_parts import parts_csv

        return parts_csv(document)
    from tiedlm.report.formats.csv import comparison_csv

    return comparison_csv(document)


def as_latex(document: Document) -> str:
    """Tables to `\\input`."""
    if isinstance(document, PartsComparison):
        from tiedlm.report.formats.latex_parts import parts_latex

        return parts_latex(document)
    from tiedlm.report.formats.latex import comparison_latex

    return comparison_latex(document)


def as_fragment(document: Document) -> str:
    """HTML for the output of a notebook's cell."""
    if isinstance(document, PartsComparison):
        from tiedlm.report.formats.notebook_parts import parts_fragment

        return parts_fragment(document)
    from tiedlm.report.formats.notebook import comparison_fragment

    return comparison_fragment(document)


def charts_of(document: Document) -> "Iterator[Chart]":
    """What `write_charts` draws into files."""
    if isinstance(document, PartsComparison):
        from tiedlm.report.charts.budgets import charts_of_parts

        return charts_of_parts(document)
    from tiedlm.report.sections.all import SECTIONS
    from tiedlm.report.sections.section import all_charts

    return all_charts(document, SECTIONS)
