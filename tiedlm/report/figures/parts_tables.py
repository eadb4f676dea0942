"""The tables of an experiment with parts: a line for each recipe or budget, then what they say together."""

from collections.abc import Iterator, Mapping, Sequence

from tiedlm.comparison.parts.document import (
    AcrossRecipes,
    AtBudget,
    BestAgainstBest,
    PartsComparison,
    Trend,
    WithinRecipe,
)
from tiedlm.comparison.statistics import Interval
from tiedlm.comparison.verdict import rounded, signed_together
from tiedlm.evaluation.absence import NOT_STORED, ONE_SEED
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import known, of_split, reason_in, score
from tiedlm.report.figures.parts import (
    compared_variants,
    kind_of_part,
    seeds_listed,
    settings_in_words,
    variant_names,
    variant_of,
)
from tiedlm.report.figures.table import Absence, Row, Shown, Table
from tiedlm.report.figures.text import key_in_words

NOTHING_FINISHED = "no run has finished"
DIRECTIONS = {
    "shrinks": "shrinks",
    "grows": "grows",
    "changes_sign": "changes sign",
    "steady": "steady",
    "cannot_tell": "cannot tell",
}
_Compared = WithinRecipe | AtBudget | BestAgainstBest


def glance_tables(document: PartsComparison) -> list[Table]:
    """Perplexity of each variant, difference and verdict: one table where one variant is compared, else several."""
    variants = compared_variants(document)
    scores = list(_perplexity_rows(document))
    differences = {variant: _difference_rows(document, variant) for variant in variants}
    if len(variants) == 1:
        return [_table(document, [*scores, *differences[variants[0]]])]
    titled = (_table(document, rows, f"{variant} against {document.baseline}") for variant, rows in differences.items())
    return [_table(document, scores), *titled]


def _table(document: PartsComparison, rows: Sequence[Row], title: str = "") -> Table:
    corner = "recipe" if document.recipes else "tokens"
    return Table(line_names(document), tuple(rows), names_as="lines", title=title, corner=corner)


def line_names(document: PartsComparison) -> tuple[str, ...]:
    """The names of recipes; of budgets the tokens of training, and the length against the experiment's own."""
    lengths = {at.part: f"{rounded(at.tokens_seen)} (×{at.budget:g})" for trend in _trends(document) for at in trend.at}
    return tuple(lengths.get(part.part, part.part) for part in document.parts)


def _trends(document: PartsComparison) -> list[Trend]:
    return document.budgets.trends if document.budgets else []


def _perplexity_rows(document: PartsComparison) -> Iterator[Row]:
    """Without their spread, which says little of a difference between pairs; the tables of each part have it."""
    shown = of_split("test", score("token_perplexity", 2))
    for name in variant_names(document):
        found = [variant_of(part, name) for part in document.parts]
        cells = [shown(variant) if variant else Absence(NOTHING_FINISHED) for variant in found]
        yield Row.of(f"{name}, test ppl", cells, brief=(Row.of(name, cells),))


def _difference_rows(document: PartsComparison, variant: str) -> list[Row]:
    """The difference with its interval, and the verdict."""
    by_part = compared_by_part(document, variant)
    found = [by_part.get(part.part) for part in document.parts]
    return [
        Row.of(f"{variant} - {document.baseline}", (_difference(each) for each in found)),
        Row.of("verdict", (key_in_words(each.verdict) if each else "cannot tell" for each in found)),
    ]


def compared_by_part(document: PartsComparison, variant: str) -> Mapping[str, WithinRecipe | AtBudget]:
    """A variant against the baseline, by the name of the recipe or budget."""
    if document.recipes:
        return {each.recipe: each for each in document.recipes.within if each.variant == variant}
    return {each.part: each for trend in _trends(document) if trend.variant == variant for each in trend.at}


def _difference(found: _Compared | None) -> Shown:
    if found is None:
        return Absence(NOTHING_FINISHED)
    absent = {} if isinstance(found, AtBudget) else found.absent
    return with_reasons(found.mean, found.ci95_seeds, *difference_reasons(found.num_seeds, absent))


def difference_reasons(num_seeds: int, absent: Mapping[str, str]) -> tuple[str, str]:
    """Why there is no difference over some seeds, and why no interval: as stored, else as the number of seeds says."""
    no_mean = absent.get("mean", NOT_STORED if num_seeds else NOTHING_FINISHED)
    return no_mean, absent.get("ci95_seeds", ONE_SEED if num_seeds == 1 else NOT_STORED)


def with_reasons(mean: float | None, interval: Interval | None, no_mean: str, no_interval: str) -> Shown:
    """ "-0.031 [-0.040, -0.022]", or what is absent of it and why."""
    if mean is None:
        return Absence(no_mean)
    shown = numbers.with_interval(mean, interval)
    return shown if interval else Absence(no_interval, shown, "no interval")


def across_table(document: PartsComparison) -> Table:
    """A column for each variant: what holds over all recipes, taken as drawn from those one might have used."""
    found = document.recipes.across if document.recipes else []
    rows = (
        Row.of("mean difference", (_mean_across(each) for each in found)),
        Row.of("under one more recipe", (_prediction(each) for each in found)),
        Row.of("standard deviation between", (_between(each) for each in found)),
        Row.of("recipes", (numbers.count(each.recipes) for each in found)),
        Row.of("difference below 0", (numbers.count(each.better) for each in found), 1),
        Row.of("judged better", (numbers.count(each.num_better) for each in found), 1),
        Row.of("difference above 0", (numbers.count(each.worse) for each in found), 1),
        Row.of("judged worse", (numbers.count(each.num_worse) for each in found), 1),
    )
    names = tuple(f"{each.variant} - {document.baseline}" for each in found)
    return Table(names, rows, title="Across recipes")


def _mean_across(found: AcrossRecipes) -> Shown:
    return with_reasons(found.mean, found.ci95, reason_in(found.absent, "mean"), reason_in(found.absent, "ci95"))


def _prediction(found: AcrossRecipes) -> Shown:
    reason = reason_in(found.absent, "prediction95")
    return known(found.prediction95, lambda interval: interval_in_words(found.mean, interval), reason)


def _between(found: AcrossRecipes) -> Shown:
    written = lambda value: signed_together(value)[0].lstrip("+") if value else "0"  # noqa: E731
    return known(found.between, written, reason_in(found.absent, "between"))


def interval_in_words(mean: float | None, interval: Interval) -> str:
    """ "[-0.060, +0.036]", with the decimals that its middle would have."""
    middle = (interval[0] + interval[1]) / 2 if mean is None else mean
    return f"[{', '.join(signed_together(middle, interval)[1:])}]"


def best_table(document: PartsComparison) -> Table:
    """A column for each variant: under its best recipe against the baseline under its own."""
    found = document.recipes.best_against_best if document.recipes else []
    rows = (
        Row.of("its recipe", (each.recipe or _no_recipe(each) for each in found)),
        Row.of(f"recipe of {document.baseline}", (each.baseline_recipe or _no_recipe(each) for each in found)),
        Row.of("chosen on validation by", (seeds_listed(each.chosen_by) for each in found)),
        Row.of("judged on test by", (seeds_listed(each.judged_by) for each in found)),
        Row.of("difference", (_difference(each) for each in found)),
        Row.of("verdict", (key_in_words(each.verdict) for each in found)),
        Row.of("seeds that would tell", (_seeds_needed(each) for each in found)),
        Row.of("comparisons corrected for", (numbers.count(each.num_corrected_for) for each in found)),
    )
    return Table(tuple(each.variant for each in found), rows, title="Best against best")


def _no_recipe(found: BestAgainstBest) -> Absence:
    return Absence(reason_in(found.absent, "mean"))


def _seeds_needed(found: BestAgainstBest) -> str:
    if found.seeds_needed is None:
        return numbers.NOTHING
    low, high = found.seeds_needed
    return rounded(low) if low == high else f"{rounded(low)} to {rounded(high)}"


def trend_table(document: PartsComparison) -> Table:
    """A column for each variant: how its difference changes with the tokens of training."""
    found = _trends(document)
    rows = (
        Row.of("change for each doubling", (_slope(each) for each in found)),
        Row.of("the difference", (DIRECTIONS[each.direction] for each in found)),
        Row.of("comparisons corrected for", (numbers.count(each.num_corrected_for) for each in found)),
    )
    names = tuple(f"{each.variant} - {document.baseline}" for each in found)
    return Table(names, rows, title="Trend with the tokens of training")


def _slope(found: Trend) -> Shown:
    no_mean, no_interval = reason_in(found.absent, "per_doubling"), reason_in(found.absent, "ci95")
    return with_reasons(found.per_doubling, found.ci95, no_mean, no_interval)


def settings_table(document: PartsComparison) -> Table:
    """A line for each part: what it changes of the experiment."""
    row = Row.of("changes", (settings_in_words(part.settings) for part in document.parts))
    return Table(line_names(document), (row,), names_as="lines", corner=kind_of_part(document))


def tables_together(document: PartsComparison) -> list[Table]:
    """What all parts say together, as tables."""
    if document.recipes:
        return [across_table(document), best_table(document)]
    return [trend_table(document)]
