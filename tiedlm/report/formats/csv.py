"""A comparison as CSV: one long table, a line for each figure at full precision."""

import csv
import io
from collections.abc import Iterator, Sequence

from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures.long_table import Figure, figures_of_variant
from tiedlm.report.sections.all import SECTIONS
from tiedlm.report.sections.section import Section


def comparison_csv(comparison: Comparison, sections: Sequence[Section] = SECTIONS) -> str:
    """CSV with a header, comma-separated; a figure that is not known has no line."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(Figure._fields)
    writer.writerows(figure for figure in _figures(comparison, sections) if figure.value is not None)
    return written.getvalue()


def _figures(comparison: Comparison, sections: Sequence[Section]) -> Iterator[Figure]:
    """Variant by variant, first its own figures, then those of each section."""
    for variant in comparison.variants:
        yield from figures_of_variant(comparison, variant)
        for section in sections:
            yield from section.figures(comparison, variant.name)
