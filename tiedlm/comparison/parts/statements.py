"""What an experiment with parts says, in sentences without a full stop. Free of torch; nothing assumes a direction."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from tiedlm.comparison.parts.document import (
    AcrossRecipes,
    BestAgainstBest,
    Budgets,
    Recipes,
    Trend,
    TurningKey,
    WithinRecipe,
)
from tiedlm.comparison.recipe import value_in_words
from tiedlm.comparison.significance import LEVEL
from tiedlm.comparison.statistics import Interval
from tiedlm.comparison.verdict import (
    UNIT,
    p_value_in_words,
    rounded,
    seeds_in_words,
    seeds_needed_in_words,
    signed_together,
)

_NOTHING = "no variant has finished beside the baseline in any part, so there is nothing to compare"
_MAX_KEYS = 3
"""A sentence names at most so many keys."""


def recipe_statements(recipes: Recipes, baseline: str, size: float) -> list[str]:
    """Where the sign turns; then for each variant in how many recipes it is better, and each at its own best."""
    said = [line for across in recipes.across for line in _turn(across, baseline)]
    best_of = {best.variant: best for best in recipes.best_against_best}
    for across in recipes.across:
        within = [each for each in recipes.within if each.variant == across.variant]
        said.append(_across(across, within, baseline))
        said.append(_best(best_of[across.variant], size))
    return said or [_NOTHING]


def budget_statements(budgets: Budgets, baseline: str, size: float) -> list[str]:
    """For each variant, what becomes of its difference with more training."""
    said = [line for trend in budgets.trends for line in (_trend(trend, baseline, size), _at_budgets(trend, baseline))]
    return said or [_NOTHING]


def _turn(across: AcrossRecipes, baseline: str) -> Iterator[str]:
    variant = across.variant
    if not across.sign_turns:
        if across.num_better and across.num_worse:
            yield (
                f"cannot tell whether the sign turns with the recipe: {variant} is better than {baseline} in "
                f"{across.num_better} and worse in {across.num_worse} of {across.recipes} recipes, of which one or the "
                f"other may be chance"
            )
        return
    if not across.turned_by:
        yield f"the sign of {variant} turns between recipes that do not differ in any setting"
        return
    first = across.turned_by[0]
    better, worse = first.better_recipe, first.worse_recipe
    keys = [key for key in across.turned_by if (key.better_recipe, key.worse_recipe) == (better, worse)]
    yield (
        f"the sign turns with the recipe: {_under(keys, better, is_better=True)} {variant} is better than {baseline}, "
        f"{_under(keys, worse, is_better=False)} it is worse"
    )


def _under(keys: Sequence[TurningKey], recipe: str, is_better: bool) -> str:
    """ "with model.tying.input_scale 1 (default)"; the second time without the name of a single key."""
    if len(keys) > _MAX_KEYS:
        return f"under {recipe}" + (f" (they differ in {len(keys)} keys)" if is_better else "")
    values = [value_in_words(key.better_value if is_better else key.worse_value) for key in keys]
    named = is_better or len(keys) > 1
    return (
        "with "
        + " and ".join(f"{key.key} {value}" if named else value for key, value in zip(keys, values, strict=True))
        + f" ({recipe})"
    )


def _across(across: AcrossRecipes, within: Sequence[WithinRecipe], baseline: str) -> str:
    """In how many recipes it is so, and what another one would show."""
    variant, count = across.variant, across.recipes
    if not count:
        return f"cannot tell whether {variant} or {baseline} is better under any recipe: {across.absent['mean']}"
    equal = sum(each.verdict in ("equal", "no_difference") for each in within)
    unknown = count - across.num_better - across.num_worse - equal
    of = "one recipe" if count == 1 else f"{count} recipes"
    also = f", and it cannot be told in {unknown}" if unknown else ""
    if across.num_better or across.num_worse:
        more, less = ("better", "worse") if across.num_better >= across.num_worse else ("worse", "better")
        counts = {"better": across.num_better, "worse": across.num_worse}
        told = f"{variant} is {more} than {baseline} in {counts[more]} of {of}, {less} in {counts[less] or 'none'}"
        told += (f", equal in {equal}" if equal else "") + also
    elif equal:
        told = f"{variant} and {baseline} are equal for practical purposes in {equal} of {of}{also}"
    else:
        told = (
            f"cannot tell {'in' if count == 1 else 'in any of'} {of} whether {variant} or {baseline} is better "
            f"(the difference is below 0 in {across.better}, above 0 in {across.worse})"
        )
    return f"{told}: {_numbers(across)}"


def _numbers(across: AcrossRecipes) -> str:
    if across.mean is None:
        return across.absent["mean"]
    if across.prediction95 is None:
        return f"the mean difference is {signed_together(across.mean)[0]} {UNIT} ({across.absent['prediction95']})"
    mean, low, high = signed_together(across.mean, across.prediction95)
    another = f"the same seeds under another recipe would show {low} to {high} (95 % prediction interval)"
    return f"the mean difference is {mean} {UNIT}, and {another}"


def _with_interval(mean: float, interval: Interval | None, more: str = "") -> str:
    """ "-0.061 nats per token (95 % interval -0.100 to -0.022)"."""
    if interval is None:
        return f"{signed_together(mean)[0]} {UNIT}"
    size, low, high = signed_together(mean, interval)
    return f"{size} {UNIT} (95 % interval {low} to {high}{more})"


def _best(best: BestAgainstBest, size: float) -> str:
    variant, baseline = best.variant, best.baseline
    unknown = f"cannot tell whether {variant} or {baseline} is better, each at its own best recipe"
    if best.recipe is None or best.baseline_recipe is None or best.mean is None:
        return f"{unknown}: {best.absent['mean']}"
    if best.recipe == best.baseline_recipe:
        each = f"each at its own best recipe, {best.recipe} for both"
    else:
        each = f"each at its own best recipe, {variant} under {best.recipe} and {baseline} under {best.baseline_recipe}"
    chosen = f"chosen by {seeds_in_words(len(best.chosen_by))}, judged by {_others(len(best.judged_by))}"
    more = _correction(best.num_corrected_for, best.p_difference)
    difference = _with_interval(best.mean, best.ci95_seeds, f"{more}; {chosen}")
    if best.verdict == "no_difference":
        return f"{each}: there is no difference between {variant} and {baseline} ({chosen})"
    if best.verdict == "equal":
        _, low, high = signed_together(best.mean, best.ci90_seeds)
        more = _correction(best.num_corrected_for, best.p_equal)
        within = f"90 % interval {low} to {high}, within ±{size:g}{more}"
        return f"{each}: {variant} and {baseline} are equal for practical purposes ({within}; {chosen})"
    if best.verdict in ("better", "worse"):
        return f"{each}: {variant} is {best.verdict} than {baseline} by {difference.lstrip('+-')}"
    why = "" if best.ci95_seeds else f" ({best.absent['ci95_seeds']}; {chosen})"
    needed = f", and {seeds_needed_in_words(best.seeds_needed, size)}" if best.seeds_needed else ""
    told = f"cannot tell whether {variant} or {baseline} is better, the difference is {difference}{why}"
    return f"{each}: {told}{needed}"


def _others(count: int) -> str:
    return "one other" if count == 1 else f"{count} others"


def _correction(count: int, p: float | None) -> str:
    return f", Holm-corrected p {p_value_in_words(p)}" if count > 1 and p is not None else ""


def _trend(trend: Trend, baseline: str, size: float) -> str:
    """Its direction first."""
    subject = f"the difference between {trend.variant} and {baseline}"
    if trend.per_doubling is None:
        return f"cannot tell how {subject} changes with the tokens: {trend.absent['per_doubling']}"
    more = _correction(trend.num_corrected_for, trend.p_change)
    change = _with_interval(trend.per_doubling, trend.ci95, more)
    each = "with each doubling of the tokens"
    if trend.direction == "changes_sign":
        return f"the sign turns with the length of training: {subject} changes by {change} {each}"
    if trend.direction == "steady":
        low, high = signed_together(trend.per_doubling, trend.ci90)[1:]
        more = _correction(trend.num_corrected_for, trend.p_steady)
        return (
            f"{subject} is steady: it changes by less than {size:g} {UNIT} {each} (90 % interval {low} to {high}{more})"
        )
    if trend.direction in ("shrinks", "grows"):
        signed = signed_together(trend.per_doubling, trend.ci95)
        return (
            f"{subject} {trend.direction} by {signed[0].lstrip('+-')} {UNIT} {each} (change {signed[0]}, 95 % interval "
            f"{signed[1]} to {signed[2]}{more})"
        )
    if trend.ci95 is None:
        return f"cannot tell how {subject} changes with the tokens, {trend.absent['ci95']}: by {change} {each}"
    is_sure = trend.p_change is not None and trend.p_change < LEVEL
    also = ", and whether towards 0 or away from it is unknown" if is_sure else ""
    return f"cannot tell whether {subject} shrinks or grows: it changes by {change} {each}{also}"


def _at_budgets(trend: Trend, baseline: str) -> str:
    """ "tied is better than untied at 100M tokens (-0.100), cannot tell at 300M tokens (-0.010)"."""
    told: Mapping[str, str] = {
        "better": f"{trend.variant} is better than {baseline}",
        "worse": f"{trend.variant} is worse than {baseline}",
        "equal": f"{trend.variant} and {baseline} are equal for practical purposes",
        "no_difference": f"there is no difference between {trend.variant} and {baseline}",
        "cannot_tell": "cannot tell",
    }
    groups: list[Any] = [(verdict, list(each)) for verdict, each in groupby(trend.at, key=lambda each: each.verdict)]
    return ", ".join(
        f"{told[verdict]} at "
        + " and ".join(
            f"{rounded(each.tokens_seen)} tokens"
            + (f" ({signed_together(each.mean)[0]})" if each.mean is not None else "")
            for each in budgets
        )
        for verdict, budgets in groups
    )
