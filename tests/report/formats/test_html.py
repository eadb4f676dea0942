"""A comparison as one HTML page."""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, curve, example_comparison, run_result, runs, summarize
from tests.support.html_pages import ReadPage
from tiedlm.comparison.comparison import Comparison, store_comparison
from tiedlm.report.charts.chart import Estimate
from tiedlm.report.charts.differences import chart_of_estimates
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.figures.table import Row, Table
from tiedlm.report.figures.variant_sentences import variant_sentences
from tiedlm.report.formats.html import comparison_html
from tiedlm.report.sections.all import SECTIONS
from tiedlm.report.sections.section import Section
from tiedlm.run.result import RunFailure

HOSTILE = "</style></title><script>alert('a')</script><img src=x onerror=alert(1)>&amp;\"'\u202e"


def read(comparison: Comparison, *sections: Section) -> ReadPage:
    return ReadPage.of(comparison_html(comparison, sections or SECTIONS))


def with_curves(name: str = "tied") -> Comparison:
    results = [
        *(run.model_copy(update={"validation_curve": curve(run)}) for run in runs(name, TIED_NATS)),
        *(run.model_copy(update={"validation_curve": curve(run)}) for run in runs("untied", UNTIED_NATS)),
    ]
    return summarize(results, [], "example", "untied", [name, "untied"])


def test_it_says_the_verdict_its_conditions_and_a_sentence_of_each_variant() -> None:
    comparison = example_comparison()
    text = read(comparison).text
    assert f"{comparison.statements[0]}." in text
    assert "On WikiText-103 (wikitext-103-v1); V=32,000, D=768, 100M tokens, fp32, 5 seeds; adamw at 0.0006, " in text
    for sentence in variant_sentences(comparison).values():
        assert sentence in text


def test_every_figure_of_the_glance_stands_in_it() -> None:
    comparison = example_comparison()
    text = read(comparison).text
    for row in main_table(comparison).rows:
        assert row.label in text
        for cell in row.cells:
            assert cell in text


def test_it_needs_nothing_beside_itself() -> None:
    page = read(with_curves())
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    for _, attributes in page.tags:
        assert not {"src", "style", "srcset", "xlink:href"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
        address = attributes.get("href") or "#"
        assert address.startswith("data:" if "download" in attributes else "#")
    style = comparison_html(with_curves()).partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_a_hostile_name_is_text_wherever_it_stands() -> None:
    harmless, hostile = read(with_curves()), read(with_curves(HOSTILE))
    assert {tag for tag, _ in hostile.tags} == {tag for tag, _ in harmless.tags}
    assert {name for _, of in hostile.tags for name in of} == {name for _, of in harmless.tags for name in of}
    assert hostile.text.count(HOSTILE.replace("\u202e", "?")) > 10
    assert "\u202e" not in comparison_html(with_curves(HOSTILE))


def test_the_links_at_the_top_lead_somewhere() -> None:
    page = read(with_curves())
    links = [attributes["href"] for tag, attributes in page.tags if tag == "a" and "download" not in attributes]
    places = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    assert len(links) > 4
    assert {f"#{place}" for place in places} == {*links}


def drawn(page: ReadPage) -> set[str | None]:
    return {attributes["aria-label"] for tag, attributes in page.tags if tag == "svg"}


def test_curves_are_drawn_against_tokens_and_seconds_where_runs_were_validated() -> None:
    curves = {
        "Validation loss by tokens",
        "Validation loss by time",
        "Difference to untied on validation, while training",
    }
    assert curves <= drawn(read(with_curves()))
    without = read(example_comparison())
    assert not curves & drawn(without)
    assert "No run was validated on its way" in without.text


def test_each_chart_is_drawn_for_a_phone_and_for_a_desk() -> None:
    page = read(with_curves())
    widths = [float(attributes["width"] or 0) for tag, attributes in page.tags if tag == "svg"]
    assert widths.count(326) * 2 == len(widths)
    assert all(float(attributes["height"] or 0) > 50 for tag, attributes in page.tags if tag == "svg")


def test_a_section_with_nothing_to_show_says_why_among_what_the_page_rests_on() -> None:
    table = Table(("one",), (Row.of("size", ["1"]),), title="Sizes")
    shown = Section("Shown", tables=lambda comparison: [table], notes=lambda comparison: ["A note."])
    hidden = Section("Hidden", notes=lambda comparison: ["Nothing, for why."])
    text = read(example_comparison(), shown, hidden).text
    assert (
        text.index("Sizes") < text.rindex("A note.") < text.rindex("What it rests on") < text.index("Nothing, for why.")
    )
    assert "Hidden" not in text


def test_a_placeholder_stands_where_there_would_be_charts() -> None:
    section = Section("Charts", placeholder="None were drawn.")
    assert "None were drawn." in read(example_comparison(), section).text
    nothing = summarize([], [], "example", "untied", ["tied", "untied"])
    assert "None were drawn." not in read(nothing, section).text


@pytest.mark.parametrize("folds", [False, True])
def test_charts_have_a_caption_and_tables_that_repeat_them_are_folded_away(folds: bool) -> None:
    chart = chart_of_estimates("key", "A chart", "untied", (Estimate("a", 0, "words", 0.1, None),))
    section = Section(
        "Both",
        tables=lambda comparison: [Table(("one",), (Row.of("size", ["1"]),), title="Sizes")],
        charts=lambda comparison: [chart] * 3,
        num_charts_side_by_side=2,
        caption="How to read it.",
        tables_repeat_charts=folds,
    )
    page = read(example_comparison(), section)
    assert page.text.index("How to read it.") < page.text.index("Sizes")
    assert ("The same as tables, and how to read them" in page.text) == folds
    widths = [
        attributes["width"] for tag, attributes in page.tags if tag == "svg" and attributes["aria-label"] == "A chart"
    ]
    assert widths == ["500", "326", "500", "326", "900", "326"], "two in one row, the third on its own"


def test_what_repeats_it_comes_along() -> None:
    text = read(example_comparison()).text
    for words in ("tiedlm compare example.yaml", "torch 2.13.0", "learning_rate: 0.0006", "0000b0d1", "70cecece" * 8):
        assert words in text


def test_failures_alone_make_a_page_too() -> None:
    failure = RunFailure(variant="untied", seed=1, kind="diverged", message="<b>not</b> finite")
    page = read(summarize([], [failure], "example", "untied", ["tied", "untied"]))
    assert "No run has finished" in page.text
    assert "<b>not</b> finite" in page.text


@pytest.mark.parametrize("num_seeds", [1, 2])
def test_few_seeds_make_a_page_too(num_seeds: int) -> None:
    assert "Difference to untied" in drawn(read(example_comparison(num_seeds)))


def test_one_variant_alone_makes_a_page_too() -> None:
    text = read(summarize([run_result("tied")], [], "example", "untied", ["tied"])).text
    assert "There is no difference to show yet." in text


_WRITE = """
import sys, pathlib
from tiedlm.comparison.comparison import load_comparison
from tiedlm.report.formats.html import comparison_html
page = comparison_html(load_comparison(pathlib.Path(sys.argv[1])))
assert not {"torch", "scipy", "numpy", "matplotlib", "datasets"} & sys.modules.keys()
"""


def test_a_stored_comparison_becomes_a_page_without_heavy_imports(tmp_path: Path) -> None:
    store_comparison(with_curves(), tmp_path)
    subprocess.run([sys.executable, "-c", _WRITE, str(tmp_path)], check=True)


def colours() -> Iterator[tuple[str, dict[str, str]]]:
    """The colours of the light scheme, and of the dark one."""
    style = files("tiedlm.report.formats").joinpath("report.css").read_text(encoding="utf-8")
    light, _, dark = style.partition("prefers-color-scheme: dark")
    for scheme, text in (("light", light), ("dark", dark.partition("\n}")[0])):
        yield scheme, dict(re.findall(r"--([\w]+): (#[0-9a-f]{6});", text))


def luminance(colour: str) -> float:
    """Relative luminance, as in WCAG 2.1."""
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize(("scheme", "of"), list(colours()), ids=["light", "dark"])
def test_words_and_lines_stand_out_from_what_they_are_on(scheme: str, of: dict[str, str]) -> None:
    for surface in ("page", "card"):
        for words in ("ink", "soft", "better", "worse", "even"):
            assert contrast(of[words], of[surface]) >= 4.5, (scheme, words, surface)
    for place in range(8):
        assert contrast(of[f"c{place}"], of["card"]) >= 3, (scheme, place)
    for one in range(6):
        assert contrast(of[f"p{one}"], of[f"p{one + 1}"]) >= 1.4, "neighbours in a bar are told apart"
