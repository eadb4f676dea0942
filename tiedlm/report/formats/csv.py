"""A comparison as CSV: one long table, a line for each figure at full precision."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from tiedlm.comparison.comparison import Comparison
from tiedlm.evaluation.absence import NOT_STORED
from tiedlm.report.figures.long_table import Figure, figures_of_variant
from tiedlm.report.sections.all import SECTIONS
from tiedlm.report.sections.section import Section

COLUMNS = ("variant", "seed", "split", "metric", "value", "step", "text", "reason")


def comparison_csv(comparison: Comparison, sections: Sequence[Section] = SECTIONS) -> str:
    """CSV with a header, comma-separated.

    `value` holds numbers alone; what is a word, as a verdict, stands in `text`. A figure that is absent has neither but
    the `reason`.
    """
    return written_csv(COLUMNS, map(csv_line, figures(comparison, sections)))


def written_csv(header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Header and lines as CSV."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)
    return written.getvalue()


def csv_line(figure: Figure) -> tuple[object, ...]:
    """A figure by its COLUMNS."""
    number, text = (None, figure.value) if isinstance(figure.value, str) else (figure.value, None)
    place = (figure.variant, figure.seed, figure.split, figure.metric)
    reason = figure.reason or (NOT_STORED if figure.value is None else None)
    return (*place, number, figure.step, text, reason)


def figures(comparison: Comparison, sections: Sequence[Section]) -> Iterator[Figure]:
    """Variant by variant, first its own figures, then those of each section."""
    for variant in comparison.variants:
        yield from figures_of_variant(comparison, variant)
        for section in sections:
            yield from section.figures(comparison, variant.name)
