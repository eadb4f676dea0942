"""From measured differences to verdicts: one primary comparison, the others corrected for their number. Free of torch.

The rule, for each difference over at least two paired seeds, at a level of 5 %:

- `no_difference`: every pair is equal to the last bit.
- `equal`: two one-sided tests put the mean within the smallest worthwhile size, in other words its 90 % interval lies
  inside (-size, +size).
- `better`, `worse`: the two-sided test excludes 0, in other words the 95 % interval does, and it is not `equal`.
- `cannot_tell`: none of these; `seeds_needed` says how many seeds would tell.

A difference that is both too small to matter and not 0 is `equal`, for that answers what one wants to know; the words
say both. For the exploratory comparisons on a split, the p-values of either test are corrected by Holm's method within
the family of all that could be tested, so that each kind of claim is wrong anywhere in it in at most 5 %.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from tiedlm.comparison.contrast import Difference, Verdict
from tiedlm.comparison.significance import LEVEL, holm, holm_levels, p_of_difference, p_of_equality, seeds_needed
from tiedlm.comparison.statistics import mean, t_interval

Member = TypeVar("Member")
PValues = tuple[float | None, float | None]
"""Of the tests for "not 0" and for "within the smallest worthwhile size"; null where nothing could be tested."""


def judge(differences: Sequence[Difference], primary: str | None, smallest_worthwhile: float) -> list[Difference]:
    """The differences with their verdicts, in the order given; `primary` is the one variant that is not corrected."""
    tested = [_tested(difference, difference.variant == primary, smallest_worthwhile) for difference in differences]
    corrected: dict[int, dict[str, Any]] = {}
    for split in dict.fromkeys(difference.split for difference in tested):
        explored = {
            index: (difference.p_difference, difference.p_equal)
            for index, difference in enumerate(tested)
            if difference.split == split and not difference.is_primary
        }
        corrected |= holm_corrected(explored, {index: tested[index].per_seed for index in explored})
    tested = [difference.model_copy(update=corrected.get(index, {})) for index, difference in enumerate(tested)]
    return [difference.model_copy(update=_decided(difference, smallest_worthwhile)) for difference in tested]


def _tested(difference: Difference, is_primary: bool, size: float) -> Difference:
    """With the p-values of both tests, where the seeds are pairs with a spread."""
    update: dict[str, Any] = {"is_primary": is_primary}
    if difference.ci95_seeds is not None:
        update["ci90_seeds"] = t_interval(difference.per_seed, 0.9)
        update["p_difference"], update["p_equal"] = p_values_of(difference.per_seed, size)
    return difference.model_copy(update=update)


def p_values_of(per_seed: Sequence[float], size: float, added: float = 0.0) -> PValues:
    """The p-values of both tests for differences of paired seeds, not corrected; `added` as in significance."""
    return p_of_difference(per_seed, added), p_of_equality(per_seed, size, added)


def holm_corrected(
    p_values: Mapping[Member, PValues], per_seed: Mapping[Member, Sequence[float]] | None = None
) -> dict[Member, dict[str, Any]]:
    """The p-values of one family, either test corrected by itself for the number of members that could be tested.

    As the fields `p_difference`, `p_equal` and `num_corrected_for`, for each of these members. With the differences
    `per_seed` also the intervals that go with them, `ci95_corrected` and `ci90_corrected`, where there are several.
    """
    tested = {member: (p, q) for member, (p, q) in p_values.items() if p is not None and q is not None}
    not_zero, equal = ([pair[test] for pair in tested.values()] for test in (0, 1))
    corrected: dict[Member, dict[str, Any]] = {
        member: {"p_difference": p, "p_equal": q, "num_corrected_for": len(tested)}
        for member, p, q in zip(tested, holm(not_zero), holm(equal), strict=True)
    }
    if per_seed is not None and len(tested) > 1:
        for member, level, level_equal in zip(tested, holm_levels(not_zero), holm_levels(equal), strict=True):
            corrected[member]["ci95_corrected"] = t_interval(per_seed[member], 1 - level)
            corrected[member]["ci90_corrected"] = t_interval(per_seed[member], 1 - 2 * level_equal)
    return corrected


def _decided(difference: Difference, size: float) -> dict[str, Any]:
    verdict = _verdict(difference)
    if verdict != "cannot_tell" or difference.p_difference is None:
        return {"verdict": verdict}
    level = LEVEL / difference.num_corrected_for  # enough whatever the others in the family turn out to be
    return {"verdict": verdict, "seeds_needed": seeds_needed(difference.per_seed, size, level)}


def _verdict(difference: Difference) -> Verdict:
    is_paired = difference.pairing.level != "none"
    return verdict_of(difference.per_seed if is_paired else [], difference.p_difference, difference.p_equal)


def verdict_of(per_seed: Sequence[float], p_difference: float | None, p_equal: float | None) -> Verdict:
    """What differences of paired seeds (none where they are no pairs) and the p-values of both tests come to."""
    if per_seed and not any(per_seed):
        return "no_difference"
    if p_difference is None or p_equal is None:
        return "cannot_tell"
    if p_equal < LEVEL:
        return "equal"
    if p_difference < LEVEL:
        return "better" if mean(per_seed) < 0 else "worse"
    return "cannot_tell"
