"""An experiment with recipes or budgets on the terminal: one screen, the verdict last; the details above it."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.report.charts.budgets import interval_charts
from tiedlm.report.charts.forest import forest_charts
from tiedlm.report.figures.parts import (
    conditions_of_parts,
    kind_of_part,
    missing_in_parts,
    part_headline,
    part_title,
    settings_in_words,
    warnings_of_parts,
)
from tiedlm.report.figures.parts_sentences import how_to_read_parts, notes_together, sentences_together
from tiedlm.report.figures.parts_tables import glance_tables, tables_together
from tiedlm.report.formats.terminal import write_details, write_place, write_verdict
from tiedlm.report.formats.terminal_writer import TerminalWriter
from tiedlm.report.formats.text_chart import text_chart, text_legend
from tiedlm.report.sections.all import SECTIONS
from tiedlm.report.sections.section import Section


def render_parts(
    document: PartsComparison,
    console: Console,
    details: bool = False,
    sections: Sequence[Section] = SECTIONS,
    stored_in: Path | None = None,
    command: str = "",
) -> None:
    """Print what the parts say together, the verdict last; `details` puts every part above it.

    `stored_in` is the folder where it lies, `command` the one that reports it from there.
    """
    writer = TerminalWriter(console)
    if details:
        _write_parts(document, writer, sections)
        _write_together(document, writer)
        writer.blank_line()
    for index, table in enumerate(glance_tables(document)):
        if index:
            writer.blank_line()
        writer.table(table)
    writer.blank_line()
    writer.paragraph(how_to_read_parts(document))
    writer.paragraphs(sentences_together(document))
    writer.paragraphs([*document.notes, *missing_in_parts(document)])
    if stored_in is not None:
        write_place(writer, stored_in, command, details)
    writer.paragraphs(warnings_of_parts(document), "bold")
    writer.blank_line()
    write_verdict(writer, conditions_of_parts(document), document.statements, document.verdict)


def _write_parts(document: PartsComparison, writer: TerminalWriter, sections: Sequence[Section]) -> None:
    """Each part under its name: what it changes, its verdict, and all that is stored of it."""
    for part in document.parts:
        writer.heading(part_title(document, part))
        writer.paragraph(f"It changes {settings_in_words(part.settings)}.")
        writer.paragraph(part_headline(part))
        writer.blank_line()
        if part.comparison is not None and part.comparison.variants:
            write_details(part.comparison, writer, sections)
            writer.blank_line()


def _write_together(document: PartsComparison, writer: TerminalWriter) -> None:
    """What holds over all parts, as tables and as a chart in letters."""
    writer.heading(f"All {kind_of_part(document)}s together")
    for index, table in enumerate(tables_together(document)):
        if index:
            writer.blank_line()
        writer.table(table)
    writer.blank_line()
    for chart in (*forest_charts(document), *interval_charts(document)):
        writer.paragraph(chart.title, "bold")
        writer.drawing(text_chart(chart, writer.text_width, writer.is_ascii))
        writer.blank_line()
    writer.paragraph(text_legend(writer.is_ascii, has_diamond=document.recipes is not None), "dim")
    writer.paragraphs(notes_together(document), "dim")
