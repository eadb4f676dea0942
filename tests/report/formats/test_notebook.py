"""The HTML of a notebook's cell: a piece without a script, whose styles reach nothing else, with every figure shown."""

import re
from html.parser import HTMLParser
from importlib.resources import files

from tests.support.finished_runs import compared, example_comparison, run_result
from tiedlm.comparison.summarize import summarize_one_run
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.formats.notebook import comparison_fragment, run_fragment

COMPARISON = example_comparison()


class Read(HTMLParser):
    """The tags and the visible text of a piece of HTML; fails where it is not well formed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.attributes: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data.replace("\xa0", " ")


def test_it_is_one_element_without_script_page_or_network() -> None:
    html = comparison_fragment(COMPARISON)
    read = Read(html)
    assert html.startswith('<div class="tiedlm">') and read.tags[0] == "div"
    assert not {"html", "head", "body", "script", "link", "img", "iframe", "meta"} & {*read.tags}
    assert not [name for name in read.attributes if name.startswith("on")]
    assert not re.search(r"https?:|url\(|@import|javascript:", html)


def test_its_styles_reach_nothing_else_and_take_the_colours_of_the_notebook() -> None:
    style = files("tiedlm.report.formats").joinpath("notebook.css").read_text(encoding="utf-8")
    selectors = [each.strip() for rule in re.findall(r"([^{}]+)\{", style) for each in rule.split(",")]
    assert len(selectors) > 10 and all(selector.startswith(".tiedlm") for selector in selectors)
    assert not re.search(r"#[0-9a-f]{3}|\brgb|background|:root|[\s;]color:", style)


def test_it_shows_verdict_and_main_table() -> None:
    read, table = Read(comparison_fragment(COMPARISON)), main_table(COMPARISON)
    assert COMPARISON.verdict in read.text
    for row in table.rows:
        assert row.label in read.text and all(cell in read.text for cell in row.cells), row.label


def test_names_are_text_and_never_markup() -> None:
    nasty = compared(*(run_result(name, seed) for name in ("<b>x</b>", "untied") for seed in (0, 1)))
    assert "<b>x" not in comparison_fragment(nasty)
    assert "<b>x</b>" in Read(comparison_fragment(nasty)).text


def test_before_anything_has_finished_there_is_only_the_verdict() -> None:
    empty = COMPARISON.model_copy(update={"variants": [], "differences": [], "conditions": None})
    assert "table" not in Read(comparison_fragment(empty)).tags


def test_one_run_has_its_figures() -> None:
    result = run_result("tied", 0)
    read = Read(run_fragment(summarize_one_run(result), "example: tied, seed 0"))
    assert "example: tied, seed 0" in read.text and f"{result.parameters.total:,}" in read.text
    assert "untied" not in read.text
