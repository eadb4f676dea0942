"""An experiment with recipes or budgets as a piece of HTML for the output of a notebook's cell."""

from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.report.charts.markup import element
from tiedlm.report.figures.parts import conditions_of_parts, missing_in_parts, settings_sentences, warnings_of_parts
from tiedlm.report.figures.parts_sentences import how_to_read_parts, notes_together, sentences_together
from tiedlm.report.figures.parts_tables import glance_tables, tables_together
from tiedlm.report.formats.html_components import bullet_list
from tiedlm.report.formats.notebook import fragment, table_fragment, verdict_fragment


def parts_fragment(document: PartsComparison) -> str:
    """Verdict, warnings, the tables of all parts, and what they say together; folded away, what they rest on."""
    notes = [*notes_together(document), *settings_sentences(document), *document.notes]
    *first, last = [*glance_tables(document), *tables_together(document)]
    return fragment(
        verdict_fragment(conditions_of_parts(document), document.statements, document.verdict),
        *(element("p", line, class_="warning") for line in warnings_of_parts(document)),
        *bullet_list([how_to_read_parts(document), *sentences_together(document), *missing_in_parts(document)]),
        *(piece for table in first for piece in table_fragment(table)),
        *table_fragment(last, notes),
    )
