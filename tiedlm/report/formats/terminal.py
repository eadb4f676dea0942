"""A comparison on the terminal: first the verdict, then the main table, the remarks, and on request the details."""

from collections.abc import Sequence

from rich.console import Console

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.verdict import conditions_in_words
from tiedlm.report.figures.context import context, warnings
from tiedlm.report.figures.detail_tables import detail_tables
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.figures.notes import detail_notes, how_to_read
from tiedlm.report.figures.variant_sentences import variant_sentences
from tiedlm.report.formats.terminal_writer import TerminalWriter
from tiedlm.report.sections.all import SECTIONS
from tiedlm.report.sections.section import Section


def render_comparison(
    comparison: Comparison, console: Console, details: bool = False, sections: Sequence[Section] = SECTIONS
) -> None:
    """Print a comparison, the most important first; `details` adds everything that is stored."""
    writer = TerminalWriter(console)
    _write_verdict(comparison, writer)
    writer.paragraphs(warnings(comparison), "bold")
    if comparison.variants:
        writer.blank_line()
        writer.table(main_table(comparison))
        writer.blank_line()
        writer.paragraphs(how_to_read(comparison), "dim")
    remarks = [remark for section in sections for remark in section.remarks(comparison)]
    writer.paragraphs(remarks, blank_line_above=True)
    writer.paragraphs(context(comparison), blank_line_above=True)
    if details and comparison.variants:
        _write_details(comparison, writer, sections)


def _write_verdict(comparison: Comparison, writer: TerminalWriter) -> None:
    """One sentence where there is one statement, else the conditions and a line for each."""
    if comparison.conditions is None or len(comparison.statements) == 1:
        writer.paragraph(comparison.verdict, "bold")
        return
    writer.paragraph(f"{conditions_in_words(comparison.conditions, not comparison.pending)}:", "bold")
    for statement in comparison.statements:
        writer.list_item(statement, "bold")


def _write_details(comparison: Comparison, writer: TerminalWriter, sections: Sequence[Section]) -> None:
    """Sentences and tables, then the notes on all of them; each appendix last, its notes below its tables."""
    appendices = [section for section in sections if section.is_appendix]
    others = [section for section in sections if not section.is_appendix]
    writer.paragraphs(variant_sentences(comparison).values(), blank_line_above=True)
    writer.tables(detail_tables(comparison))
    writer.tables(table for section in others for table in section.tables(comparison))
    writer.blank_line()
    writer.paragraphs([*detail_notes(comparison), *(note for section in others for note in section.notes(comparison))])
    for appendix in appendices:
        writer.tables(appendix.tables(comparison))
        writer.paragraphs(appendix.notes(comparison), blank_line_above=True)
