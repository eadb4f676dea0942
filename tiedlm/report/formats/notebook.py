"""A comparison, or one run, as a piece of HTML for the output of a notebook's cell.

It has no script, no colour but the notebook's own (which may be light or dark), and styles that reach nothing else.
"""

from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.verdict import conditions_in_words
from tiedlm.report.charts.markup import Markup, element
from tiedlm.report.figures.context import context, warnings
from tiedlm.report.figures.detail_tables import one_run_table
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.figures.notes import how_to_read
from tiedlm.report.figures.table import Table
from tiedlm.report.formats.html_components import bullet_list, folded


def comparison_fragment(comparison: Comparison) -> str:
    """Verdict, warnings and main table; folded away, how to read it and what it rests on."""
    notes = [*how_to_read(comparison), *context(comparison)]
    figures = table_fragment(main_table(comparison), notes) if comparison.variants else []
    return fragment(_verdict(comparison), *_warnings(comparison), *figures)


def run_fragment(alone: Comparison, title: str) -> str:
    """The figures of one finished run, which `alone` is the summary of."""
    return fragment(
        element("p", title, class_="verdict"),
        *_warnings(alone),
        *table_fragment(one_run_table(alone), list(context(alone))),
    )


def _warnings(comparison: Comparison) -> Iterator[Markup]:
    return (element("p", line, class_="warning") for line in warnings(comparison))


def fragment(*content: Markup) -> str:
    """All of it in one element, with the styles."""
    style = files("tiedlm.report.formats").joinpath("notebook.css").read_text(encoding="utf-8")
    return element("div", element("style", Markup(style)), *content, class_="tiedlm")


def _verdict(comparison: Comparison) -> Markup:
    found = comparison.conditions
    conditions = conditions_in_words(found, not comparison.pending) if found else ""
    return verdict_fragment(conditions, comparison.statements, comparison.verdict)


def verdict_fragment(conditions: str, statements: Sequence[str], verdict: str) -> Markup:
    """One sentence where there is one statement, else the conditions and a line for each."""
    if not conditions or len(statements) == 1:
        return element("p", verdict, class_="verdict")
    items = (element("li", statement) for statement in statements)
    return element("div", element("p", f"{conditions}:"), element("ul", *items), class_="verdict")


def table_fragment(table: Table, notes: Iterable[str] = ()) -> list[Markup]:
    """The table; folded away, why a figure of it is absent, and the notes."""
    header, body = table.header_and_lines()
    head = element("tr", *(element("th", title, scope="col") for title in header))
    rows = (element("tr", _label(label), *map(_cell, cells)) for label, *cells in body)
    whole = element("table", element("thead", head), element("tbody", *rows))
    below = bullet_list([*table.reasons(), *notes])
    return [
        element("div", whole, class_="scroll"),
        *([folded("How to read it, and what it rests on", below[0])] if below else []),
    ]


def _label(label: str) -> Markup:
    name = label.lstrip(" ")
    return element("th", name, scope="row", class_="deep" if name != label else None)


def _cell(text: str) -> Markup:
    """Broken only before an interval, if at all."""
    number, bracket, interval = text.partition(" [")
    rest = [" ", element("span", f"[{interval}")] if bracket else []
    return element("td", element("span", number), *rest)
