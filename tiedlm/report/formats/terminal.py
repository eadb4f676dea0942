"""A comparison on the terminal: one screen, the verdict last, next to the prompt; on request the details above it."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.verdict import conditions_in_words
from tiedlm.report.figures.context import context, warnings
from tiedlm.report.figures.detail_tables import detail_tables
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.figures.notes import detail_notes, how_to_read
from tiedlm.report.figures.screen import screen_sentences, screen_table
from tiedlm.report.figures.variant_sentences import variant_sentences
from tiedlm.report.formats.terminal_writer import TerminalWriter
from tiedlm.report.sections.all import SECTIONS
from tiedlm.report.sections.section import Section


def render_comparison(
    comparison: Comparison,
    console: Console,
    details: bool = False,
    sections: Sequence[Section] = SECTIONS,
    stored_in: Path | None = None,
    command: str = "",
) -> None:
    """Print a comparison, the verdict last; `details` puts everything that is stored above it.

    `stored_in` is the folder where it lies, `command` the one that reports it from there.
    """
    writer = TerminalWriter(console)
    if details and comparison.variants:
        write_details(comparison, writer, sections)
        writer.blank_line()
    if comparison.variants:
        writer.table(screen_table(comparison))
        writer.blank_line()
    writer.paragraphs(screen_sentences(comparison))
    writer.paragraphs(sentence for section in sections for sentence in section.at_a_glance(comparison))
    if stored_in is not None:
        write_place(writer, stored_in, command, details)
    writer.paragraphs(warnings(comparison), "bold")
    if comparison.variants:
        writer.blank_line()
    _write_verdict(comparison, writer)


def write_place(writer: TerminalWriter, stored_in: Path, command: str, details: bool) -> None:
    """Where it is stored, and on a line of its own the command that shows all of it, or writes it as a page."""
    if not command:
        writer.paragraph(f"Stored in {stored_in}")
    elif details:
        writer.paragraph(f"Stored in {stored_in}; as a page:")
        writer.paragraph(f"  {command} --html {stored_in.name}.html")
    else:
        writer.paragraph(f"Stored in {stored_in}; all of it (--html FILE: as a page):")
        writer.paragraph(f"  {command} --details")


def _write_verdict(comparison: Comparison, writer: TerminalWriter) -> None:
    conditions = comparison.conditions
    said = conditions_in_words(conditions, not comparison.pending) if conditions else ""
    write_verdict(writer, said, comparison.statements, comparison.verdict)


def write_verdict(writer: TerminalWriter, conditions: str, statements: Sequence[str], verdict: str) -> None:
    """The conditions, and below them the statements: one on lines of its own, several as a list.

    The verdict alone where either is not known.
    """
    if not conditions or not statements:
        writer.paragraph(verdict, "bold")
        return
    writer.paragraph(f"{conditions}:")
    if len(statements) == 1:
        writer.paragraph(f"{statements[0].rstrip('.')}.", "bold")
        return
    for statement in statements:
        writer.list_item(statement, "bold")


def write_details(comparison: Comparison, writer: TerminalWriter, sections: Sequence[Section]) -> None:
    """The whole main table and how to read it, then what each section says and shows; each appendix last."""
    appendices = [section for section in sections if section.is_appendix]
    others = [section for section in sections if not section.is_appendix]
    writer.paragraphs(variant_sentences(comparison).values())
    writer.blank_line()
    writer.table(main_table(comparison))
    writer.blank_line()
    writer.paragraphs(how_to_read(comparison), "dim")
    remarks = [remark for section in sections for remark in section.remarks(comparison)]
    writer.paragraphs(remarks, blank_line_above=True)
    writer.paragraphs(context(comparison), blank_line_above=True)
    writer.tables(detail_tables(comparison))
    writer.tables(table for section in others for table in section.tables(comparison))
    writer.blank_line()
    writer.paragraphs([*detail_notes(comparison), *(note for section in others for note in section.notes(comparison))])
    for appendix in appendices:
        writer.tables(appendix.tables(comparison))
        writer.paragraphs(appendix.notes(comparison), blank_line_above=True)
