"""How the difference of a variant changes with the length of training. Free of torch."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.judgement import holm_corrected, p_values_of
from tiedlm.comparison.parts.across import differences_of, is_comparable, turned_sides
from tiedlm.comparison.parts.document import AtBudget, Budgets, Direction, Trend
from tiedlm.comparison.parts.recipes import variants_of
from tiedlm.comparison.significance import LEVEL
from tiedlm.comparison.statistics import mean, t_interval
from tiedlm.evaluation.absence import ONE_SEED


def measure_budgets(comparisons: Mapping[str, Comparison], factors: Mapping[str, float]) -> Budgets:
    """Of the comparison at each budget by the name of its part, with the length of its runs in the experiment's own.

    Where there are several variants, the trends beside that of the primary one are corrected by Holm's method.
    """
    primary = next((one.primary for one in comparisons.values()), None)
    trends = [_measure(variant, comparisons, factors) for variant in variants_of(comparisons)]
    explored = {
        index: (trend.p_change, trend.p_steady) for index, trend in enumerate(trends) if trend.variant != primary
    }
    for index, fields in holm_corrected(explored).items():
        update = {"p_change": fields["p_difference"], "p_steady": fields["p_equal"]}
        trends[index] = trends[index].model_copy(update={**update, "num_corrected_for": fields["num_corrected_for"]})
    return Budgets(
        trends=[
            trend.model_copy(update={"direction": _direction(trend, differences_of(trend.variant, comparisons))})
            for trend in trends
        ]
    )


def _measure(variant: str, comparisons: Mapping[str, Comparison], factors: Mapping[str, float]) -> Trend:
    """The trend with its p-values, not yet judged."""
    found = differences_of(variant, comparisons)
    at = [_at(part, difference, comparisons[part], factors[part]) for part, difference in found.items()]
    at.sort(key=lambda each: each.tokens_seen)
    fitted = [each for each in at if is_comparable(found[each.part])]
    by_seed = [dict(zip(found[each.part].seeds, each.per_seed, strict=True)) for each in fitted]
    seeds = [seed for seed in (by_seed[0] if by_seed else ()) if all(seed in each for each in by_seed)]
    reason = _why_no_line(fitted, seeds)
    if reason:
        absent = dict.fromkeys(("per_doubling", "ci95"), reason)
        return Trend(variant=variant, at=at, per_doubling=None, ci95=None, direction="cannot_tell", absent=absent)
    doublings = [math.log2(each.tokens_seen) for each in fitted]
    slopes = [slope(doublings, [each[seed] for each in by_seed]) for seed in seeds]
    p_change, p_steady = p_values_of(slopes, next(iter(comparisons.values())).smallest_worthwhile)
    return Trend(
        variant=variant,
        at=at,
        per_doubling=mean(slopes),
        ci95=t_interval(slopes),
        ci90=t_interval(slopes, 0.9),
        seeds=seeds,
        per_seed=slopes,
        p_change=p_change,
        p_steady=p_steady,
        direction="cannot_tell",
        absent={} if len(slopes) > 1 else {"ci95": ONE_SEED},
    )


def _why_no_line(fitted: Sequence[AtBudget], seeds: Sequence[int]) -> str | None:
    if len({each.tokens_seen for each in fitted}) < 2:
        return "fewer than two budgets have a difference"
    return None if seeds else "no seed has finished at every budget"


def _at(part: str, difference: Difference, comparison: Comparison, factor: float) -> AtBudget:
    runs = next(variant.runs for variant in comparison.variants if variant.name == difference.variant)
    return AtBudget(
        budget=factor,
        part=part,
        tokens_seen=runs[0].tokens_seen,
        mean=difference.mean,
        ci95_seeds=difference.ci95_seeds,
        num_seeds=difference.num_seeds,
        per_seed=difference.per_seed,
        verdict=difference.verdict,
    )


def slope(places: Sequence[float], values: Sequence[float]) -> float:
    """Of the line with the least squares through values at at least two different places."""
    centre, level = mean(places), mean(values)
    products = ((place - centre) * (value - level) for place, value in zip(places, values, strict=True))
    return math.fsum(products) / math.fsum((place - centre) ** 2 for place in places)


def _direction(trend: Trend, found: Mapping[str, Difference]) -> Direction:
    """What becomes of the size of the difference.

    - `changes_sign`: better at one budget and worse at another, both corrected for their number.
    - `steady`: the change for each doubling is within the smallest worthwhile size (two one-sided tests), or none.
    - `shrinks`, `grows`: the change is not 0, and neither is the middle of the line: |end| < |start| exactly where the
      two have opposite signs.
    - `cannot_tell`: none of these.
    """
    judged = {part: (each.verdict, each.p_difference) for part, each in found.items() if is_comparable(each)}
    if turned_sides(judged) is not None:
        return "changes_sign"
    if len(trend.per_seed) > 1 and not any(trend.per_seed):
        return "steady"
    if trend.p_change is None or trend.p_steady is None:
        return "cannot_tell"
    if trend.p_steady < LEVEL:
        return "steady"
    middle = t_interval(_middles(trend, found))
    if trend.p_change >= LEVEL or middle is None or middle[0] <= 0 <= middle[1]:
        return "cannot_tell"
    assert trend.per_doubling is not None
    return "shrinks" if trend.per_doubling * sum(middle) < 0 else "grows"


def _middles(trend: Trend, found: Mapping[str, Difference]) -> list[float]:
    """For each seed, its line halfway between the shortest and the longest budget, counted in doublings."""
    fitted = [each for each in trend.at if is_comparable(found[each.part])]
    doublings = [math.log2(each.tokens_seen) for each in fitted]
    from_mean = (doublings[0] + doublings[-1]) / 2 - mean(doublings)
    levels: list[Any] = [dict(zip(found[each.part].seeds, each.per_seed, strict=True)) for each in fitted]
    return [
        mean([level[seed] for level in levels]) + change * from_mean
        for seed, change in zip(trend.seeds, trend.per_seed, strict=True)
    ]
