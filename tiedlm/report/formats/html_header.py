"""The header of the HTML page: the verdict, a card for each variant, and links to all that is below."""

from collections.abc import Mapping, Sequence

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.variant_summary import VariantSummary
from tiedlm.comparison.verdict import conditions_in_words
from tiedlm.report.charts.markup import Markup, element
from tiedlm.report.charts.svg_elements import colour
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import difference_cell, shown_variants
from tiedlm.report.figures.context import warnings
from tiedlm.report.figures.text import capitalized, key_in_words
from tiedlm.report.figures.variant_sentences import variant_sentences
from tiedlm.report.formats.html_components import bullet_list

_LONG_HEADLINE = 120
"""A headline with more letters is set smaller."""


def page_header(comparison: Comparison, anchors: Mapping[str, str]) -> Markup:
    """The header; `anchors` maps the title of each part of the page to its id, for the links."""
    names = [variant.name for variant in comparison.variants]
    statements = [_sentence(said, names) for said in comparison.statements or [comparison.verdict]]
    headline = statements[0]
    conditions = comparison.conditions
    under = f"{conditions_in_words(conditions, not comparison.pending)}." if conditions else ""
    return element(
        "header",
        element("p", f"tiedlm · {comparison.experiment}", class_="kicker"),
        element("h1", headline, class_="long" if len(headline) > _LONG_HEADLINE else None),
        element("p", under, class_="conditions"),
        *bullet_list(statements[1:]),
        *(element("p", line, class_="warning") for line in warnings(comparison)),
        _variant_cards(comparison),
        element("nav", *(element("a", title, href=f"#{anchor}") for title, anchor in anchors.items())),
    )


def _sentence(statement: str, names: Sequence[str]) -> str:
    """A statement as a sentence of its own; the name of a variant stays as it is written."""
    begins_with_name = any(f"{statement} ".startswith(f"{name} ") for name in names)
    return f"{(statement if begins_with_name else capitalized(statement)).rstrip('.')}."


def _variant_cards(comparison: Comparison) -> Markup:
    """A card for each variant: its score, and one sentence."""
    sentences = variant_sentences(comparison)
    on_test = {each.variant: each for each in comparison.all_differences if each.split == "test"}
    cards = (
        _variant_card(variant, place, comparison.baseline, on_test.get(variant.name), sentences[variant.name])
        for place, variant in enumerate(shown_variants(comparison))
    )
    return element("div", *cards, class_="variants")


def _variant_card(
    variant: VariantSummary, place: int, baseline: str, difference: Difference | None, sentence: str
) -> Markup:
    score = variant.splits.get("test")
    mean, _, sd = numbers.spread(
        score.token_perplexity if score else None, score.token_perplexity_sd if score else None, 2
    ).partition(" ± ")
    spread = [element("small", f" ± {sd}")] if sd else []
    tag = (
        [element("span", key_in_words(difference.verdict), class_=f"verdict {difference.verdict}")]
        if difference and not variant.added
        else [element("span", "baseline", class_="role")]
        if variant.name == baseline
        else []
    )
    under = f"test perplexity; difference {difference_cell(difference)}" if difference else "test perplexity"
    return element(
        "article",
        element("h3", element("span", variant.name), *tag),
        element("p", mean, *spread, class_="big"),
        element("p", under, class_="under"),
        element("p", sentence),
        class_=f"card {colour(place)}",
    )
