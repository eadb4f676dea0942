"""The header of the HTML page: the verdict, a card for each variant, and links to all that is below."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Headline:
    """What a page says first: its statements with their conditions, and what a reader must know before any figure.

    `names` are those of variants and the like, which stay as they are written.
    """

    experiment: str
    names: Sequence[str]
    statements: Sequence[str]
    conditions: str
    warnings: Iterable[str]


def page_header(comparison: Comparison, anchors: Mapping[str, str]) -> Markup:
    """The header of a comparison; `anchors` maps the title of each part of the page to its id, for the links."""
    conditions = comparison.conditions
    headline = Headline(
        comparison.experiment,
        [variant.name for variant in comparison.variants],
        comparison.statements or [comparison.verdict],
        f"{conditions_in_words(conditions, not comparison.pending)}." if conditions else "",
        warnings(comparison),
    )
    return header_of(headline, anchors, variant_cards(comparison))


def header_of(headline: Headline, anchors: Mapping[str, str], *content: Markup) -> Markup:
    """The first statement large, the others below it, then the content and the links."""
    first, *others = (_sentence(said, headline.names) for said in headline.statements)
    return element(
        "header",
        element("p", f"tiedlm · {headline.experiment}", class_="kicker"),
        element("h1", first, class_="long" if len(first) > _LONG_HEADLINE else None),
        element("p", headline.conditions, class_="conditions"),
        *bullet_list(others),
        *(element("p", line, class_="warning") for line in headline.warnings),
        *content,
        element("nav", *(element("a", title, href=f"#{anchor}") for title, anchor in anchors.items())),
    )


def _sentence(statement: str, names: Sequence[str]) -> str:
    """A statement as a sentence of its own; the name of a variant stays as it is written."""
    begins_with_name = any(f"{statement} ".startswith(f"{name} ") for name in names)
    return f"{(statement if begins_with_name else capitalized(statement)).rstrip('.')}."


def variant_cards(comparison: Comparison) -> Markup:
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
