"""The blocks of an HTML page: cards with tables, charts and lists in them."""

from collections.abc import Sequence

from tiedlm.report.charts.chart import Chart
from tiedlm.report.charts.markup import Markup, element, join
from tiedlm.report.charts.svg_drawing import draw, legend
from tiedlm.report.figures.table import Records

PHONE, HALF, FULL = 326, 500, 900
"""Widths to draw at, in pixels: for a phone, for one of two columns, for the whole page."""

_LONGEST = 28
"""A cell with more letters than this in a row is words, not a number."""


def figure(chart: Chart, width: int) -> Markup:
    """A chart with its title and its legend, at a given width and for a phone: the page shows the one that fits."""
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


def titled_table(records: Records) -> Markup:
    """A table on a card of its own."""
    title = [element("h3", records.title)] if records.title else []
    return card(*title, table(records))


def table(records: Records) -> Markup:
    """A table that scrolls where it is wider than the page, its labels staying where they are."""
    header, body = records.table()
    head = element("tr", *(element("th", title, scope="col") for title in header))
    rows = (element("tr", _label(line[0]), *map(_cell, line[1:])) for line in body)
    whole = element("table", element("thead", head), element("tbody", *rows))
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=records.title or "figures")


def _label(label: str) -> Markup:
    name = label.lstrip(" ")
    return element("th", name, scope="row", class_="deep" if name != label else None)


def _cell(text: str) -> Markup:
    """Broken only before a bracket: a number stays on its line."""
    first, *others = text.replace(" (", "\n(").replace(" [", "\n[").split("\n")
    is_prose = max(map(len, (first, *others))) > _LONGEST
    spans = join(element("span", first), *(join(" ", element("span", other)) for other in others))
    return element("td", spans, class_="words" if is_prose else None)


def folded(title: str, content: Markup) -> Markup:
    """What is shown on request."""
    return element("details", element("summary", title), content)


def card(*content: Markup) -> Markup:
    """A surface."""
    return element("div", *content, class_="card")


def listed(items: Sequence[str], class_: str = "") -> list[Markup]:
    """A list where there is something to list."""
    if not items:
        return []
    return [element("ul", *(element("li", item) for item in items), class_=f"plain {class_}".rstrip())]
