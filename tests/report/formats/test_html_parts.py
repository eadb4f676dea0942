"""An experiment with recipes or budgets as one HTML page."""

import pytest

from tests.support.html_pages import ReadPage
from tests.support.parts_documents import FAILURE, RECIPES, budgets_comparison, recipes_comparison
from tiedlm.comparison.comparison import Pending
from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.report.charts import budgets, forest
from tiedlm.report.formats.html_parts import parts_html

HOSTILE = "</style></title><script>alert('a')</script><img src=x onerror=alert(1)>&amp;\"'\u202e"
DOCUMENTS = {
    "recipes": recipes_comparison(),
    "variants": recipes_comparison(variants=("tied", "soft")),
    "budgets": budgets_comparison(variants=("tied", "soft")),
    "one seed": recipes_comparison(num_seeds=1),
    "missing": recipes_comparison(
        RECIPES | {"new": (None, {"training.steps": 1})},
        failures={"plain": FAILURE},
        pending={"new": Pending(variant="tied", seed=0)},
    ),
}


def read(document: PartsComparison) -> ReadPage:
    return ReadPage.of(parts_html(document))


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_it_needs_nothing_beside_itself_and_its_links_lead_somewhere(document: PartsComparison) -> None:
    page = read(document)
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    places = {f"#{attributes['id']}" for _, attributes in page.tags if "id" in attributes}
    links = [attributes.get("href") or "" for tag, attributes in page.tags if tag == "a"]
    assert {link for link in links if not link.startswith("data:")} == places and len(places) == 5
    for _, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "style")]


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_each_part_is_folded_away_with_its_verdict_in_its_title(document: PartsComparison) -> None:
    page = read(document)
    assert [tag for tag, _ in page.tags].count("details") == len(document.parts)
    for part in document.parts:
        assert part.part in page.text
        assert part.comparison is None or part.comparison.statements[0] in page.text


def test_a_hostile_name_is_text_wherever_it_stands() -> None:
    harmless, hostile = (
        read(recipes_comparison({name: (-0.03, {"model.note": name}), "plain": (0.02, {})}))
        for name in ("other", HOSTILE)
    )
    assert {tag for tag, _ in hostile.tags} == {tag for tag, _ in harmless.tags}
    assert {name for _, of in hostile.tags for name in of} == {name for _, of in harmless.tags for name in of}
    assert hostile.text.count(HOSTILE.replace("\u202e", "?")) > 5


def test_it_says_the_headline_the_settings_and_what_is_missing() -> None:
    text = read(DOCUMENTS["missing"]).text
    for words in (
        "tied is better than untied under 4 of 6 recipes",
        "On WikiText-103 (wikitext-103-v1); V=32,000, D=768, 100M tokens, fp32, 4 seeds, so far; 7 recipes.",
        "training.learning_rate = 0.003, training.warmup = 200",
        "Failed: plain, tied, seed 1",
        "new: nothing to compare yet",
        forest.HOW_TO_READ,
    ):
        assert words in text, words
    assert budgets.HOW_TO_READ in read(DOCUMENTS["budgets"]).text


def test_each_chart_is_drawn_for_a_phone_and_for_a_desk() -> None:
    page = read(DOCUMENTS["variants"])
    drawn = [attributes["aria-label"] for tag, attributes in page.tags if tag == "svg"]
    assert drawn.count("tied against untied under each recipe") == 2
    assert drawn.count("soft against untied under each recipe") == 2
    assert "There is no difference to show yet." in read(recipes_comparison({"new": (None, {})})).text
