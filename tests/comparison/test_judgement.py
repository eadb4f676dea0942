"""Verdicts: which of two facts wins, one primary comparison, and a correction for the number of the others."""

import random

import pytest

from tests.support.finished_runs import run_result, runs, summarize
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.significance import holm, p_of_difference, p_of_equality
from tiedlm.comparison.statistics import t_interval
from tiedlm.comparison.verdict import p_value_in_words

SHAPE = (-1.2, 0.4, 1.1, -0.3, 0.0)
"""Five differences with a mean of 0 and a standard deviation of 0.85."""


def compared(primary: str | None = None, size: float = 0.01, **variants: tuple[float, float]) -> Comparison:
    """Variants whose five differences to the baseline have (mean, scale)."""
    results = runs("untied", [4.0] * len(SHAPE))
    for name, (mean, scale) in variants.items():
        results += runs(name, [4.0 + mean + scale * step for step in SHAPE])
    names = ["untied", *variants]
    return summarize(results, [], "example", "untied", names, primary=primary, smallest_worthwhile=size)


def on_test(comparison: Comparison) -> dict[str, Difference]:
    return {found.variant: found for found in comparison.differences if found.split == "test"}


@pytest.mark.parametrize(
    ("mean", "scale", "verdict"),
    [
        (-0.02, 0.005, "better"),
        (0.02, 0.005, "worse"),
        (0.002, 0.002, "equal"),
        (-0.002, 0.0002, "equal"),
        (0.002, 0.05, "cannot_tell"),
        (0.0099, 0.005, "worse"),
    ],
)
def test_the_rule_on_each_side_of_its_bounds(mean: float, scale: float, verdict: str) -> None:
    found = on_test(compared(tied=(mean, scale)))["tied"]
    assert found.verdict == verdict
    assert (found.seeds_needed is not None) == (verdict == "cannot_tell")
    assert found.ci90_seeds == pytest.approx(t_interval(found.per_seed, 0.9))


def test_a_difference_that_is_real_and_too_small_to_matter_is_equal_and_both_are_said() -> None:
    comparison = compared(tied=(-0.002, 0.0002))
    found = on_test(comparison)["tied"]
    assert found.p_difference is not None and found.p_difference < 0.05
    assert "tied and untied are equal for practical purposes on test: the difference is -0.002" in comparison.verdict
    assert "within ±0.01" in comparison.verdict
    assert "in favour of tied and too small to matter, though not 0 (95 % interval -0.002" in comparison.verdict
    assert "though not 0" not in compared(tied=(-0.002, 0.002)).verdict


def test_the_size_that_matters_decides_what_is_equal() -> None:
    assert on_test(compared(tied=(-0.02, 0.005), size=0.05))["tied"].verdict == "equal"
    assert on_test(compared(tied=(0.002, 0.002), size=0.001))["tied"].verdict == "cannot_tell"


def test_what_cannot_be_told_comes_with_the_seeds_that_would_tell() -> None:
    comparison = compared(tied=(0.002, 0.02))
    found = on_test(comparison)["tied"]
    assert found.seeds_needed is not None
    low, high = found.seeds_needed
    assert 5 < low < high < 1_000
    assert f"which holds 0), and {low} to {high} seeds would tell a difference of 0.01." in comparison.verdict


def test_the_primary_comparison_is_the_first_unless_named_and_stands_first() -> None:
    first = compared(a=(-0.02, 0.005), b=(0.02, 0.005))
    assert [found.is_primary for found in on_test(first).values()] == [True, False]
    named = compared("b", a=(-0.02, 0.005), b=(0.02, 0.005))
    assert named.primary == "b"
    assert [found.is_primary for found in on_test(named).values()] == [False, True]
    assert named.statements[0].startswith("b is worse than untied")
    assert named.statements[-1] == "b against untied is the primary comparison, the other is exploratory"


def test_exploratory_verdicts_are_corrected_beside_the_interval_that_is_not() -> None:
    comparison = compared(first=(0.0, 0.05), b=(-0.02, 0.018), c=(-0.02, 0.003), d=(0.0, 0.004))
    found = on_test(comparison)
    explored = [found[name] for name in "bcd"]
    raw = [p_of_difference(difference.per_seed) or 0.0 for difference in explored]
    equal = [p_of_equality(difference.per_seed, 0.01) or 0.0 for difference in explored]
    assert [difference.p_difference for difference in explored] == pytest.approx(holm(raw))
    assert [difference.p_equal for difference in explored] == pytest.approx(holm(equal))
    assert [difference.num_corrected_for for difference in found.values()] == [1, 3, 3, 3]
    assert [difference.verdict for difference in explored] == ["cannot_tell", "better", "equal"]
    b = found["b"]
    assert b.ci95_seeds is not None and b.ci95_seeds[1] < 0, "alone it would have been better"
    assert on_test(compared("b", first=(0.0, 0.05), b=(-0.02, 0.018)))["b"].verdict == "better"
    said = next(words for words in comparison.statements if "whether b or" in words)
    assert "which holds 0, Holm-corrected" in said, "the interval in the words is the corrected one"
    assert f"Holm-corrected p = {b.p_difference:.2g}" in said
    assert comparison.statements[-1].endswith(
        "the other 3 are exploratory, with verdicts Holm-corrected for 3 comparisons"
    )


def test_more_comparisons_need_more_seeds() -> None:
    alone = on_test(compared("b", a=(0.0, 0.05), b=(0.002, 0.02)))["b"].seeds_needed
    among = on_test(compared("a", a=(0.0, 0.05), b=(0.002, 0.02), c=(0.0, 0.05), d=(0.0, 0.05)))["b"].seeds_needed
    assert alone is not None and among is not None
    assert among[0] > alone[0] and among[1] > alone[1]


def test_what_was_not_tested_is_not_corrected_for() -> None:
    """One seed, no pair, or equal to the last bit: no p-value, and no place in the family."""
    results = [*runs("untied", [4.0, 4.0, 4.0]), *runs("a", [4.0, 4.1, 4.3]), *runs("b", [4.0, 4.1, 4.3])]
    results += [*runs("same", [4.0, 4.0, 4.0]), run_result("once", 0, 3.9)]
    comparison = summarize(results, [], "example", "untied", ["untied", "a", "b", "same", "once"])
    found = on_test(comparison)
    assert {difference.num_corrected_for for difference in found.values()} == {1}
    assert (found["same"].verdict, found["once"].verdict) == ("no_difference", "cannot_tell")


def test_a_primary_variant_that_has_not_finished_leaves_the_others_exploratory() -> None:
    results = [*runs("untied", [4.0, 4.1, 4.0]), *runs("b", [4.0, 4.0, 4.2]), *runs("c", [4.0, 4.0, 4.2])]
    comparison = summarize(results, [], "example", "untied", ["untied", "a", "b", "c"])
    assert (comparison.primary, {found.is_primary for found in comparison.differences}) == ("a", {False})
    assert comparison.statements[-1].startswith("all of these comparisons are exploratory")


def test_seeds_that_differ_by_one_amount_are_not_said_to_hold_zero() -> None:
    comparison = summarize([*runs("tied", [3.5] * 3), *runs("untied", [3.0] * 3)], [], "x", "untied", ["tied"])
    assert "all seeds differ by exactly +0.500 nats per token, as independent runs do not" in comparison.verdict


def test_a_corrected_interval_says_what_the_corrected_verdict_says() -> None:
    """Whatever the family: it holds 0 exactly where Holm's method cannot tell, and is never narrower than at 95 %."""
    draw = random.Random(7)
    num_seen = dict.fromkeys(("better", "worse", "cannot_tell"), 0)
    for _ in range(60):
        family = [run for place in range(4) for run in runs(f"v{place}", _drawn(draw, 4.0 + draw.gauss(0, 0.05)))]
        names = ["untied", *(f"v{place}" for place in range(4))]
        results = [*runs("untied", [4.0] * 5), *family]
        comparison = summarize(results, [], "example", "untied", names, smallest_worthwhile=0.002)
        for found in comparison.differences:
            assert found.interval is not None and found.ci95_seeds is not None
            low, high = found.interval
            if found.verdict != "equal":
                assert (low <= 0 <= high) == (found.verdict == "cannot_tell")
            assert low <= found.ci95_seeds[0] and found.ci95_seeds[1] <= high
            assert (found.ci95_corrected is None) == found.is_primary
            num_seen[found.verdict] = num_seen.get(found.verdict, 0) + 1
    assert all(count > 20 for count in num_seen.values())


def _drawn(draw: random.Random, centre: float) -> list[float]:
    return [draw.gauss(centre, 0.03) for _ in range(5)]


def test_cannot_tell_stands_beside_an_interval_that_holds_0_though_the_one_at_95_per_cent_does_not() -> None:
    comparison = compared(first=(0.5, 0.1), tied=(0.03, 0.023), soft=(0.001, 0.05), other=(0.002, 0.06))
    found = on_test(comparison)["tied"]
    assert found.verdict == "cannot_tell"
    assert found.ci95_seeds is not None and found.ci95_seeds[0] > 0
    assert found.interval is not None and found.interval[0] < 0 < found.interval[1]
    (said,) = [statement for statement in comparison.statements if "tied or untied" in statement]
    low, high = (f"{end:+.4f}" for end in found.interval)
    assert f"(95 % interval {low} to {high}, which holds 0, Holm-corrected p = 0." in said


def test_a_p_value_is_not_rounded_to_the_level_of_the_test() -> None:
    assert [p_value_in_words(value) for value in (0.0501, 0.04999, 0.031, 0.0004)] == [
        *("= 0.0501", "= 0.04999", "= 0.031", "< 0.001")
    ]
