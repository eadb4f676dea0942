"""The components of an HTML page: charts, tables, lists, cards, and what is folded away."""

from collections.abc import Iterable

from tiedlm.report.charts.chart import Chart
from tiedlm.report.charts.markup import Markup, element, join
from tiedlm.report.charts.svg_drawing import draw, legend
from tiedlm.report.figures.table import Table

PHONE, HALF, FULL = 326, 500, 900
"""Widths to draw at, in pixels: for a phone, for one of two columns, for the whole page."""

_MAX_NUMBER_LENGTH = 28
"""A cell with a longer piece is words, not numbers, and may be broken anywhere."""


def drawn_chart(chart: Chart, width: int) -> Markup:
    """A chart with its title and legend, drawn at a given width and for a phone: the style sheet shows what fits."""
    named = legend(chart)
    items = (element("li", name, class_=class_) for class_, name in named)
    return element(
        "figure",
        element("figcaption", chart.title),
        *([element("ul", *items, class_="legend")] if named else []),
        element("div", draw(chart, width), class_="wide"),
        element("div", draw(chart, PHONE), class_="narrow"),
        class_="card",
    )


def table_card(table: Table) -> Markup:
    """A table with its title on a card of its own."""
    title = [element("h3", table.title)] if table.title else []
    return card(*title, scrolling_table(table))


def scrolling_table(table: Table) -> Markup:
    """A table that scrolls sideways where it is wider than the page; its labels stay in view.

    Below it stands why a figure of it is absent.
    """
    header, body = table.header_and_lines()
    head = element("tr", *(element("th", title, scope="col") for title in header))
    rows = (element("tr", _label(line[0]), *map(_cell, line[1:])) for line in body)
    whole = element("table", element("thead", head), element("tbody", *rows))
    scrolling = element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=table.title or "figures")
    return join(scrolling, *bullet_list(table.reasons(), "note"))


def _label(label: str) -> Markup:
    name = label.lstrip(" ")
    return element("th", name, scope="row", class_="deep" if name != label else None)


def _cell(text: str) -> Markup:
    """Broken only before a bracket, so that a number stays on one line."""
    first, *others = text.replace(" (", "\n(").replace(" [", "\n[").split("\n")
    is_prose = max(map(len, (first, *others))) > _MAX_NUMBER_LENGTH
    spans = join(element("span", first), *(join(" ", element("span", other)) for other in others))
    return element("td", spans, class_="words" if is_prose else None)


def folded(title: str, content: Markup) -> Markup:
    """Content that is shown once its title is clicked."""
    return element("details", element("summary", title), content)


def card(*content: Markup) -> Markup:
    """A box with a background of its own."""
    return element("div", *content, class_="card")


def bullet_list(items: Iterable[str], class_: str = "") -> list[Markup]:
    """One list; nothing where there is no item."""
    bullets = [element("li", item) for item in items]
    return [element("ul", *bullets, class_=f"plain {class_}".rstrip())] if bullets else []


def note(text: str) -> Markup:
    """A paragraph in small print."""
    return element("p", text, class_="note")
