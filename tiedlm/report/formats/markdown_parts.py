"""An experiment with recipes or budgets as GitHub Markdown, to paste."""

from collections.abc import Iterator

from tiedlm.comparison.parts.document import PartComparison, PartsComparison
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.figures.notes import how_to_read
from tiedlm.report.figures.parts import (
    missing_in_parts,
    part_headline,
    part_title,
    settings_in_words,
    warnings_of_parts,
)
from tiedlm.report.figures.parts_sentences import how_to_read_parts, notes_together, sentences_together
from tiedlm.report.figures.parts_tables import glance_tables, tables_together
from tiedlm.report.formats.markdown import escape, list_markdown, table_markdown, titled_table


def parts_markdown(document: PartsComparison) -> str:
    """Verdict, warnings, the tables of all parts together, and the main table of each below its name."""
    blocks = [f"**{escape(document.verdict)}**", *list_markdown(warnings_of_parts(document))]
    blocks += map(titled_table, glance_tables(document))
    blocks += list_markdown([how_to_read_parts(document), *sentences_together(document)])
    blocks += map(titled_table, tables_together(document))
    blocks += list_markdown([*notes_together(document), *document.notes, *missing_in_parts(document)])
    for part in document.parts:
        blocks += _part(part_title(document, part), part)
    return "\n\n".join(blocks) + "\n"


def _part(title: str, part: PartComparison) -> Iterator[str]:
    yield f"**{escape(title)}**"
    yield from list_markdown([f"It changes {settings_in_words(part.settings)}.", part_headline(part)])
    if part.comparison is not None and part.comparison.variants:
        yield table_markdown(main_table(part.comparison))
        yield from list_markdown(how_to_read(part.comparison))
