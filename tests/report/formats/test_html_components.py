"""Tables of the HTML page: on a screen that is too narrow, and on paper."""

import re
from importlib.resources import files

import pytest

from tiedlm.report.figures.table import Row, Table
from tiedlm.report.formats.html_components import scrolling_table


def table(num_columns: int, cell: str = "1,234.56 [-0.001, +0.002]") -> Table:
    names = tuple(f"variant {number}" for number in range(num_columns))
    return Table(names, (Row.of("test perplexity", [cell] * num_columns), Row.of("seeds", ["5"] * num_columns)))


def tables_in(markup: str) -> list[list[str]]:
    """The header of each table."""
    return [re.findall(r'<th scope="col">([^<]*)</th>', each) for each in re.findall(r"<table>.*?</table>", markup)]


def test_a_table_that_fits_a_page_of_paper_is_written_once() -> None:
    assert tables_in(scrolling_table(table(4))) == [["", *table(4).names]]


@pytest.mark.parametrize("names_as", ["columns", "lines"])
def test_one_that_does_not_is_several_on_paper_with_all_its_columns_in_order(names_as: str) -> None:
    wide = table(12)
    if names_as == "lines":
        wide = Table(("one", "two"), tuple(Row.of(name, ["1,234.56 ± 0.12"] * 2) for name in wide.names), "lines")
    *parts, whole = tables_in(scrolling_table(wide))
    assert 2 <= len(parts) <= 4
    assert [name for part in parts for name in part[1:]] == whole[1:] == [f"variant {number}" for number in range(12)]


def test_a_column_wider_than_paper_stands_alone() -> None:
    *parts, _ = tables_in(scrolling_table(table(2, "a reason in words " * 20)))
    assert [part[1:] for part in parts] == [["variant 0"], ["variant 1"]]


def test_paper_shows_the_parts_and_what_is_folded_away_and_a_narrow_screen_the_hint() -> None:
    style = files("tiedlm.report.formats").joinpath("report.css").read_text(encoding="utf-8")
    screen, _, paper = style.partition("@media print")
    assert ".parts { display: none; }" in screen
    assert ".parts { display: block; } .parts + .scroller { display: none; }" in paper
    assert "details::details-content { content-visibility: visible;" in paper
    assert re.search(r"h2, h3, figcaption, summary[^{]*\{ break-after: avoid;", paper)
    assert "overflow-x: auto" not in paper
    assert re.search(r"\.hint \{ animation: hint", screen)
    assert 'class="hint" aria-hidden="true"' in scrolling_table(table(1))
