"""The forest plot of an experiment with recipes: each recipe, then across them, then best against best."""

from collections.abc import Iterator

from tiedlm.comparison.contrast import Verdict
from tiedlm.comparison.parts.document import AcrossRecipes, BestAgainstBest, PartsComparison, Recipes, WithinRecipe
from tiedlm.comparison.verdict import UNIT
from tiedlm.report.charts.chart import Band, Estimate, IntervalChart, Mark
from tiedlm.report.figures import numbers
from tiedlm.report.figures.parts import compared_variants, seeds_listed, variant_names
from tiedlm.report.figures.parts_sentences import best_recipes
from tiedlm.report.figures.parts_tables import difference_reasons, interval_in_words
from tiedlm.report.figures.text import key_in_words

MARKS: dict[Verdict, Mark] = {
    "better": "left",
    "worse": "right",
    "equal": "square",
    "no_difference": "square",
    "cannot_tell": "ring",
}
"""The shape of each verdict: a triangle points to the side that is favoured."""
HOW_TO_READ = (
    "Triangle: better (to the left) or worse (to the right); square: equal; ring: cannot tell; with the 95 % interval "
    "over seeds, and a small dot for each seed. Diamond: mean across recipes, as wide as its 95 % interval; dashed: "
    "what the same seeds would show under one more recipe (95 % prediction interval)."
)


def forest_charts(document: PartsComparison) -> Iterator[IntervalChart]:
    """One for each variant of which there is a difference; of each a row a recipe, in their order."""
    names, size = variant_names(document), document.smallest_worthwhile
    for number, variant in enumerate(compared_variants(document) if document.recipes else ()):
        assert document.recipes is not None
        estimates = tuple(_estimates(document.recipes, variant, names.index(variant)))
        if all(each.middle is None for each in estimates):
            continue
        yield IntervalChart(
            f"recipes-{number + 1}" if number else "recipes",
            f"{variant} against {document.baseline} under each recipe",
            f"{variant} - {document.baseline}, {UNIT}",
            f"favours {variant}",
            f"favours {document.baseline}",
            estimates,
            (Band(f"within ±{size:g}: too small to matter", -size, size),),
        )


def _estimates(recipes: Recipes, variant: str, place: int) -> Iterator[Estimate]:
    for within in recipes.within:
        if within.variant == variant:
            yield _within(within, place)
    for across in recipes.across:
        if across.variant == variant:
            yield _across(across, place)
    for best in recipes.best_against_best:
        if best.variant == variant:
            yield _best(best, place)


def _within(found: WithinRecipe, place: int) -> Estimate:
    return Estimate(
        found.recipe,
        place,
        _words(found),
        found.mean,
        found.ci95_seeds,
        tuple(found.per_seed),
        tuple(f"{found.recipe}: {value:+.4f}" for value in found.per_seed),
        MARKS[found.verdict],
        group="Under each recipe",
    )


def _words(found: WithinRecipe | BestAgainstBest) -> str:
    """ "-0.031 [-0.040, -0.022], better"."""
    if found.mean is None:
        return f"none: {difference_reasons(found.num_seeds, found.absent)[0]}"
    return f"{numbers.with_interval(found.mean, found.ci95_seeds)}, {key_in_words(found.verdict)}"


def _across(found: AcrossRecipes, place: int) -> Estimate:
    words = "none" if found.mean is None else numbers.with_interval(found.mean, found.ci95)
    more = f"; one more recipe: {interval_in_words(found.mean, found.prediction95)}" if found.prediction95 else ""
    return Estimate(
        "mean",
        place,
        words,
        found.mean,
        found.ci95,
        mark="diamond",
        whiskers=found.prediction95,
        group=(
            f"Across {found.recipes} recipes: below 0 under {found.better} ({found.num_better} judged better), "
            f"above 0 under {found.worse} ({found.num_worse} judged worse){more}"
        ),
    )


def _best(found: BestAgainstBest, place: int) -> Estimate:
    return Estimate(
        "best",
        place,
        _words(found),
        found.mean,
        found.ci95_seeds,
        tuple(found.per_seed),
        mark=MARKS[found.verdict],
        group=(
            f"Best against best: {best_recipes(found)} "
            f"(chosen by {seeds_listed(found.chosen_by)}, judged by {seeds_listed(found.judged_by)})"
        ),
    )
