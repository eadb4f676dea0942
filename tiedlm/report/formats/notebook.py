"""A comparison, or one run, as a piece of HTML for the output of a notebook's cell.

It has no script, no colour but the notebook's own (which may be light or dark), and styles that reach nothing else.
"""

from collections.abc import Iterable, Iterator
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
    figures = _table(main_table(comparison), notes) if comparison.variants else []
    return _fragment(_verdict(comparison), *_warnings(comparison), *figures)


def run_fragment(alone: Comparison, title: str) -> str:
    """The figures of one finished run, which `alone` is the summary of."""
    return _fragment(
        element("p", title, class_="verdict"),
        *_warnings(alone),
        *_table(one_run_table(alone), list(context(alone))),
    )


def _warnings(comparison: Comparison) -> Iterator[Markup]:
    return (element("p", line, class_="warning") for line in warnings(comparison))


def _fragment(*content: Markup) -> str:
    style = files("tiedlm.report.formats").joinpath("notebook.css").read_text(encoding="utf-8")
    return element("div", element("style", Markup(style)), *content, class_="tiedlm")


def _verdict(comparison: Comparison) -> Markup:
    """One sentence where there is one statement, else the conditions and a line for each."""
    if comparison.conditions is None or len(comparison.statements) == 1:
        return element("p", comparison.verdict, class_="verdict")
    conditions = conditions_in_words(comparison.conditions, not comparison.pending)
    items = (element("li", statement) for statement in comparison.statements)
    return element("div", element("p", f"{conditions}:"), element("ul", *items), class_="verdict")


def _table(table: Table, notes: Iterable[str]) -> list[Markup]:
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
