"""What recipes or budgets say together, in a sentence each."""

from collections.abc import Iterator, Mapping

from tiedlm.comparison.parts.document import AcrossRecipes, BestAgainstBest, PartsComparison, Trend
from tiedlm.comparison.statistics import Interval
from tiedlm.comparison.verdict import UNIT, rounded, signed_together
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import reason_in
from tiedlm.report.figures.parts import compared_variants, seeds_listed, value_in_words
from tiedlm.report.figures.parts_tables import compared_by_part, difference_reasons, interval_in_words
from tiedlm.report.figures.text import key_in_words

_DIRECTIONS = {
    "shrinks": "the difference shrinks",
    "grows": "the difference grows",
    "changes_sign": "the difference changes its sign",
    "steady": "the difference is steady",
    "cannot_tell": "cannot tell whether the difference changes",
}


def how_to_read_parts(document: PartsComparison) -> str:
    """What the columns of the first tables are, and which sign favours whom."""
    compared = compared_variants(document)
    variant = compared[0] if len(compared) == 1 else "the variant"
    has_interval = any(each.ci95_seeds for name in compared for each in compared_by_part(document, name).values())
    interval = " [95 % interval]" if has_interval else ""
    return f"Test perplexity; {UNIT}{interval}, below 0 favours {variant}."


def sentences_together(document: PartsComparison) -> Iterator[str]:
    """Across, best against best and turning keys of every variant, or its trend; nothing that the verdict says too."""
    verdict, baseline = document.verdict, document.baseline
    if document.recipes:
        several = len(document.recipes.across) > 1
        for across in document.recipes.across:
            if not _is_said(verdict, across.mean, across.prediction95, across.absent):
                yield _across(across, baseline, several)
            yield from _turns(across, verdict)
        for best in document.recipes.best_against_best:
            if not _is_said(verdict, best.mean, best.ci95_seeds, best.absent):
                yield _best(best)
    for trend in document.budgets.trends if document.budgets else ():
        if not _is_said(verdict, trend.per_doubling, trend.ci95, trend.absent):
            yield _trend(trend, baseline)


def _is_said(verdict: str, value: float | None, interval: Interval | None, absent: Mapping[str, str]) -> bool:
    """Whether a value stands in the verdict with its interval, or else the reason why there is none."""
    said = absent.values() if value is None else signed_together(value, interval)
    return all(each.lstrip("+-") in verdict for each in said)


def notes_together(document: PartsComparison) -> Iterator[str]:
    """What these figures are, for whom has more room than one screen."""
    if document.recipes:
        yield (
            "Across recipes: random effects; each recipe counts as drawn from those one might have used, and the "
            "95 % prediction interval holds the difference that the same seeds would show under one more of them."
        )
        yield (
            "Best against best: the recipe of each variant is chosen on validation by some seeds, and judged on test "
            "by others, since the best of several noisy recipes looks better than it is."
        )
    else:
        yield (
            "Trend: a line through each seed's differences over the logarithm of the training tokens; its slope is the "
            "change of the difference for each doubling, with a t-interval over seeds."
        )


def _across(found: AcrossRecipes, baseline: str, several: bool) -> str:
    pair = f" {found.variant} - {baseline} =" if several else ""
    over = f"Across {found.recipes} recipe{'' if found.recipes == 1 else 's'}:"
    if found.mean is None:
        return f"{over}{pair} cannot tell, {reason_in(found.absent, 'mean')}."
    size = numbers.with_interval(found.mean, found.ci95)
    if found.ci95 is None:
        size += f" (no interval, {reason_in(found.absent, 'ci95')})"
    return f"{over}{pair} {size}{_one_more(found)}; below 0 under {found.better}, above 0 under {found.worse}."


def _one_more(found: AcrossRecipes) -> str:
    """ "; one more recipe: [-0.060, +0.036]", or why not, where that was not said of the interval already."""
    if found.prediction95 is not None:
        return f"; one more recipe: {interval_in_words(found.mean, found.prediction95)}"
    reason = reason_in(found.absent, "prediction95")
    is_said = found.ci95 is None and reason == reason_in(found.absent, "ci95")
    return "" if is_said else f"; one more recipe: no interval, {reason}"


def _turns(found: AcrossRecipes, verdict: str) -> Iterator[str]:
    """With which keys the sign turns, unless the verdict names them; that it does, where no key tells recipes apart."""
    turned = [turn for turn in found.turned_by if turn.key not in verdict]
    said = "; ".join(
        f"{turn.key}: better at {value_in_words(turn.better_value)} ({turn.better_recipe}), "
        f"worse at {value_in_words(turn.worse_value)} ({turn.worse_recipe})"
        for turn in turned
    )
    if turned:
        yield f"The sign of {found.variant} turns with {said}."
    elif found.sign_turns and not found.turned_by:
        yield f"The sign of {found.variant} turns with the recipe; no key alone tells such recipes apart."


def best_recipes(found: BestAgainstBest) -> str:
    """ "tied under plain, untied under wide-init", or that no recipe could be chosen."""
    pairs = ((found.variant, found.recipe), (found.baseline, found.baseline_recipe))
    return ", ".join(f"{name} under {'none' if recipe is None else recipe}" for name, recipe in pairs)


def _best(found: BestAgainstBest) -> str:
    arms = best_recipes(found)
    by = f"chosen by {seeds_listed(found.chosen_by)}, judged by {seeds_listed(found.judged_by)}"
    no_mean, no_interval = difference_reasons(found.num_seeds, found.absent)
    if found.mean is None:
        return f"Best against best: {arms}: cannot tell, {no_mean} ({by})."
    size = numbers.with_interval(found.mean, found.ci95_seeds)
    interval = "" if found.ci95_seeds else f" (no interval, {no_interval})"
    return f"Best against best: {arms}: {size}{interval}, {key_in_words(found.verdict)} ({by}{_seeds_needed(found)})."


def _seeds_needed(found: BestAgainstBest) -> str:
    if found.seeds_needed is None:
        return ""
    low, high = found.seeds_needed
    return f"; {rounded(low) if low == high else f'{rounded(low)} to {rounded(high)}'} seeds would tell"


def _trend(found: Trend, baseline: str) -> str:
    pair = f"{found.variant} - {baseline}"
    if found.per_doubling is None:
        return f"Trend: that of {pair} cannot be told, {reason_in(found.absent, 'per_doubling')}."
    size = numbers.with_interval(found.per_doubling, found.ci95)
    interval = "" if found.ci95 else f" (no interval, {reason_in(found.absent, 'ci95')})"
    changes = f"{pair} changes by {size}{interval} {UNIT} for each doubling of the tokens"
    return f"Trend: {changes}; {_DIRECTIONS[found.direction]}."
