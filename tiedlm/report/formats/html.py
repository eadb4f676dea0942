"""A comparison as one HTML page that needs nothing beside itself: no script, no network, no fonts of its own."""

from collections.abc import Iterator, Sequence

from tiedlm.comparison.comparison import Comparison
from tiedlm.report.charts.chart import Chart
from tiedlm.report.charts.markup import Markup, element, join, lines
from tiedlm.report.figures.context import context
from tiedlm.report.figures.detail_tables import every_run_table, hashes_table, more_figures_table
from tiedlm.report.figures.experiment_file import experiment_file, package_versions
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.figures.notes import detail_notes, how_to_read
from tiedlm.report.formats.csv import comparison_csv
from tiedlm.report.formats.html_components import (
    FULL,
    HALF,
    bullet_list,
    card,
    drawn_chart,
    folded,
    note,
    scrolling_table,
    table_card,
)
from tiedlm.report.formats.html_downloads import downloads
from tiedlm.report.formats.html_header import page_header
from tiedlm.report.formats.html_page import anchors_of, html_page
from tiedlm.report.sections.all import SECTIONS
from tiedlm.report.sections.section import Section, main_chart


def comparison_html(comparison: Comparison, sections: Sequence[Section] = SECTIONS) -> str:
    """The whole document."""
    contents = dict(_contents(comparison, sections))
    anchors = anchors_of(contents)
    return html_page(comparison.experiment, page_header(comparison, anchors), contents)


def _contents(comparison: Comparison, sections: Sequence[Section]) -> Iterator[tuple[str, Markup]]:
    """Titles and contents from top to bottom, of all that has something to show."""
    if comparison.variants:
        yield "Differences", differences(comparison, sections)
        table = card(scrolling_table(main_table(comparison)), _downloads(comparison, sections))
        yield "Figures", join(table, *bullet_list(how_to_read(comparison), "note"))
    shown = {section.title: _section(section, comparison) for section in sections}
    yield from ((title, content) for title, content in shown.items() if content)
    reasons = [reason for section in sections if not shown[section.title] for reason in section.notes(comparison)]
    rests_on = [*context(comparison), *detail_notes(comparison), *reasons]
    yield "What it rests on", card(*bullet_list(rests_on))
    if comparison.variants:
        yield "Every run", _every_run(comparison)
        yield "To repeat it", _repeat(comparison)


def _downloads(comparison: Comparison, sections: Sequence[Section]) -> Markup:
    """What `--csv` and `--json` write of a comparison."""
    return downloads(comparison.experiment, comparison_csv(comparison, sections), comparison.model_dump(mode="json"))


def _section(section: Section, comparison: Comparison) -> Markup:
    """All that a section shows; nothing where it has only notes, on why there is nothing."""
    remarks, charts = list(section.remarks(comparison)), list(section.charts(comparison))
    tables = [table_card(table) for table in section.tables(comparison)]
    if not (remarks or charts or tables):
        has_placeholder = section.placeholder and comparison.variants
        return card(note(section.placeholder)) if has_placeholder else Markup()
    below = join(*tables, *bullet_list(section.notes(comparison), "note"))
    if below and charts and section.tables_repeat_charts:
        below = card(folded("The same as tables, and how to read them", below))
    caption = [note(section.caption)] if section.caption else []
    return join(*bullet_list(remarks), *_charts(section, charts), *caption, below)


def _charts(section: Section, charts: Sequence[Chart]) -> Iterator[Markup]:
    """The first ones side by side, as far as the section says so and there are several."""
    count = section.num_charts_side_by_side if len(charts) > 1 else 0
    if count:
        yield element("div", *(drawn_chart(chart, HALF) for chart in charts[:count]), class_="pair")
    yield from (drawn_chart(chart, FULL) for chart in charts[count:])


def differences(comparison: Comparison, sections: Sequence[Section]) -> Markup:
    """The main chart, and how to read it."""
    chart = main_chart(comparison, sections)
    if chart is None:
        return card(note("There is no difference to show yet."))
    how = "Dot and bar: mean and 95 % interval. Small dots: one for each seed. Over documents: these checkpoints alone."
    return join(drawn_chart(chart, FULL), note(how))


def _every_run(comparison: Comparison) -> Markup:
    return join(
        table_card(every_run_table(comparison)),
        card(folded("More figures of each variant", scrolling_table(more_figures_table(comparison)))),
        card(folded("SHA-256 of what each run started from and read", scrolling_table(hashes_table(comparison)))),
    )


def _hashes_of_text(comparison: Comparison) -> list[Markup]:
    """The hashes and the origin of the text, to tell it from another one."""
    hashes_of_runs = [run.hashes for variant in comparison.variants for run in variant.runs]
    hashes = {"text": [each.corpus for each in hashes_of_runs], "tokens": [each.tokens for each in hashes_of_runs]}
    details = {f"SHA-256 of the {what}": " / ".join(dict.fromkeys(values)) for what, values in hashes.items()}
    origin = comparison.corpus.details if comparison.corpus else {}
    details |= {f"text, {key}": str(value) for key, value in origin.items() if value is not None}
    return [element("p", element("code", f"{what}: {value}"), class_="note hash") for what, value in details.items()]


def _repeat(comparison: Comparison) -> Markup:
    written = experiment_file(comparison)
    name = f"{comparison.experiment}.yaml"
    known = ", ".join(f"{package} {version}" for package, version in package_versions(comparison).items())
    ran = [element("p", f"The runs were made with {known}.")] if known else []
    if written is None:
        why = "An earlier version made this comparison, without the configs: they are in the folders of the runs."
        return card(element("p", why), *ran)
    command = f"tiedlm compare {name}\ntiedlm report runs/{comparison.experiment} --html report.html"
    tuned = [element("p", "Settings that were tuned stand in it as they came out.")] if comparison.tuning else []
    return card(
        element("p", "Save the experiment below as ", element("code", name), ", then:"),
        element("pre", lines(command)),
        *tuned,
        *ran,
        *_hashes_of_text(comparison),
        folded("The experiment, with every default written out", element("pre", lines(written))),
    )
