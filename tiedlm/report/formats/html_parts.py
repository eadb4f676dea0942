"""An experiment with recipes or budgets as one HTML page: what they say together, then each folded away."""

from collections.abc import Iterator, Sequence

from tiedlm.comparison.parts.document import PartComparison, PartsComparison
from tiedlm.report.charts import budgets, forest
from tiedlm.report.charts.markup import Markup, element, join
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.figures.notes import how_to_read
from tiedlm.report.figures.parts import (
    conditions_of_parts,
    kind_of_part,
    missing_in_parts,
    part_headline,
    settings_in_words,
    variant_names,
    verdicts_of_part,
    warnings_of_parts,
)
from tiedlm.report.figures.parts_sentences import how_to_read_parts, notes_together, sentences_together
from tiedlm.report.figures.parts_tables import glance_tables, settings_table, tables_together
from tiedlm.report.figures.table import Table
from tiedlm.report.formats.csv_parts import parts_csv
from tiedlm.report.formats.html import differences
from tiedlm.report.formats.html_components import (
    FULL,
    bullet_list,
    card,
    drawn_chart,
    folded,
    note,
    scrolling_table,
    table_card,
)
from tiedlm.report.formats.html_downloads import downloads
from tiedlm.report.formats.html_header import Headline, header_of, variant_cards
from tiedlm.report.formats.html_page import anchors_of, html_page
from tiedlm.report.sections.all import SECTIONS
from tiedlm.report.sections.section import Section


def parts_html(document: PartsComparison, sections: Sequence[Section] = SECTIONS) -> str:
    """The whole page."""
    contents = dict(_contents(document, sections))
    conditions = conditions_of_parts(document)
    headline = Headline(
        document.experiment,
        [*variant_names(document), *(part.part for part in document.parts)],
        document.statements or [document.verdict],
        f"{conditions}." if conditions else "",
        warnings_of_parts(document),
    )
    return html_page(document.experiment, header_of(headline, anchors_of(contents)), contents)


def _contents(document: PartsComparison, sections: Sequence[Section]) -> Iterator[tuple[str, Markup]]:
    kind = kind_of_part(document)
    together = [*sentences_together(document), *missing_in_parts(document)]
    yield f"Differences by {kind}", join(*_charts(document), *bullet_list([how_to_read_parts(document), *together]))
    csv, data = parts_csv(document, sections), document.model_dump(mode="json")
    tables = [table_card(table) for table in glance_tables(document)]
    yield "Figures", join(*tables, downloads(document.experiment, csv, data))
    yield "Together", join(_side_by_side(tables_together(document)), *bullet_list(notes_together(document), "note"))
    yield "Settings", join(table_card(settings_table(document)), *bullet_list(document.notes, "note"))
    yield f"Each {kind}", join(*(_part(part, sections) for part in document.parts))


def _side_by_side(tables: Sequence[Table]) -> Markup:
    """Small tables in one row, where the page is wide enough."""
    cards = [table_card(table) for table in tables]
    return element("div", *cards, class_="pair") if len(cards) > 1 else join(*cards)


def _charts(document: PartsComparison) -> Iterator[Markup]:
    charts = list(budgets.charts_of_parts(document))
    yield from (drawn_chart(chart, FULL) for chart in charts)
    if charts:
        yield note(forest.HOW_TO_READ if document.recipes else budgets.HOW_TO_READ)
    else:
        yield card(note("There is no difference to show yet."))


def _part(part: PartComparison, sections: Sequence[Section]) -> Markup:
    """Folded away: what the page of the part alone would show at a glance."""
    verdicts = verdicts_of_part(part)
    return card(folded(f"{part.part}: {verdicts}", join(*_glance(part, sections))))


def _glance(part: PartComparison, sections: Sequence[Section]) -> Iterator[Markup]:
    yield element("p", part_headline(part))
    yield note(f"It changes {settings_in_words(part.settings)}.")
    if part.comparison is not None and part.comparison.variants:
        yield variant_cards(part.comparison)
        yield differences(part.comparison, sections)
        yield card(scrolling_table(main_table(part.comparison)))
        yield from bullet_list(how_to_read(part.comparison), "note")
