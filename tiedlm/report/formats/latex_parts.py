"""An experiment with recipes or budgets as tables of LaTeX."""

from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.report.figures.parts import missing_in_parts, settings_sentences
from tiedlm.report.figures.parts_sentences import how_to_read_parts, notes_together, sentences_together
from tiedlm.report.figures.parts_tables import glance_tables, tables_together
from tiedlm.report.formats.latex import latex_tables


def parts_latex(document: PartsComparison) -> str:
    """A line for each recipe or budget, then what they say together; notes below the first table."""
    tables = [table.in_brief() for table in (*glance_tables(document), *tables_together(document))]
    notes = [
        how_to_read_parts(document),
        *sentences_together(document),
        *notes_together(document),
        *settings_sentences(document),
        *document.notes,
        *missing_in_parts(document),
        *(reason for table in tables for reason in table.reasons()),
    ]
    return latex_tables(document.experiment, document.verdict, tables, notes)
