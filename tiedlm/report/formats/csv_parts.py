"""An experiment with recipes or budgets as CSV: the long table of each part, and what they say together."""

from collections.abc import Iterator, Sequence

from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.report.figures.parts_long_table import figures_together, settings_of_part
from tiedlm.report.formats.csv import COLUMNS, csv_line, figures, written_csv
from tiedlm.report.sections.all import SECTIONS
from tiedlm.report.sections.section import Section


def parts_csv(document: PartsComparison, sections: Sequence[Section] = SECTIONS) -> str:
    """As that of one comparison, with the name of the part before it; empty where a figure is of all parts together."""
    return written_csv(("part", *COLUMNS), _lines(document, sections))


def _lines(document: PartsComparison, sections: Sequence[Section]) -> Iterator[tuple[object, ...]]:
    for figure in figures_together(document):
        yield (None, *csv_line(figure))
    for part in document.parts:
        for figure in settings_of_part(part):
            yield (part.part, *csv_line(figure))
        for figure in figures(part.comparison, sections) if part.comparison else ():
            yield (part.part, *csv_line(figure))
