"""The components of an HTML page: charts, tables, lists, cards, and what is folded away."""

from collections.abc import Iterable

from tiedlm.report.charts.chart import Chart
from tiedlm.report.charts.markup import Markup, element, join
from tiedlm.report.charts.svg_drawing import draw, legend
from tiedlm.report.figures.table import Table

PHONE, HALF, FULL = 326, 500, 900
"""Widths to draw at, in pixels: for a phone, for one of two columns, for the whole page."""

_PAPER_WIDTH = 104
"""Letters that fit a line of a table on paper, two between columns counted."""

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
    """A table that scrolls sideways where it is wider than the screen, and says so; its labels stay in view.

    On paper, which does not scroll, one that is too wide is several with some of its columns each. Below it stands
    why a figure of it is absent.
    """
    named = {"tabindex": "0", "role": "region", "aria_label": table.title or "figures"}
    scrolls = element("div", _table(table), class_="scroll", **named)
    hint = element("p", "more to the right →", class_="hint", aria_hidden="true")
    whole = element("div", hint, scrolls, class_="scroller")
    parts = _parts_for_paper(table)
    on_paper = [element("div", *map(_table, parts), class_="parts")] if len(parts) > 1 else []
    return join(*on_paper, whole, *bullet_list(table.reasons(), "note"))


def _table(table: Table) -> Markup:
    header, body = table.header_and_lines()
    head = element("tr", *(element("th", title, scope="col") for title in header))
    rows = (element("tr", _label(line[0]), *map(_cell, line[1:])) for line in body)
    return element("table", element("thead", head), element("tbody", *rows))


def _parts_for_paper(table: Table) -> list[Table]:
    """As few tables as have lines that fit a page; a single column fits, since its words are broken."""
    counts = range(1, max(table.num_columns, 1) + 1)
    return next(parts for parts in map(table.split, counts) if all(map(_fits_paper, parts)) or len(parts) == counts[-1])


def _fits_paper(table: Table) -> bool:
    header, body = table.header_and_lines()
    columns = zip(header, *body, strict=True)
    return sum(2 + max(len(piece) for cell in column for piece in _pieces(cell)) for column in columns) <= _PAPER_WIDTH


def _label(label: str) -> Markup:
    name = label.lstrip(" ")
    return element("th", name, scope="row", class_="deep" if name != label else None)


def _cell(text: str) -> Markup:
    """Broken only before a bracket, so that a number stays on one line."""
    first, *others = _pieces(text)
    is_prose = max(map(len, (first, *others))) > _MAX_NUMBER_LENGTH
    spans = join(element("span", first), *(join(" ", element("span", other)) for other in others))
    return element("td", spans, class_="words" if is_prose else None)


def _pieces(text: str) -> list[str]:
    return text.replace(" (", "\n(").replace(" [", "\n[").split("\n")


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
