"""The fall of validation in the last doubling of tokens, beside the difference, on curves made by hand."""

import math
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.finished_runs import compared, hashes, run_result
from tests.support.validated_runs import CONSTANT, validated_run
from tiedlm.comparison.analyses.signs import Signs
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.signs.falling import fall_of
from tiedlm.comparison.signs.sign import Sign
from tiedlm.run.result import CurvePoint


def signs_of(comparison: Comparison) -> Signs:
    found = comparison.analysis(Signs)
    assert found is not None
    return found


def falling(comparison: Comparison) -> list[Sign]:
    return [sign for sign in signs_of(comparison).signs if sign.kind == "still_falling"]


def points(*curve: tuple[int, float]) -> list[CurvePoint]:
    """By tokens."""
    return [CurvePoint(step=1, tokens=tokens, seconds=1.0, nats_per_token=nats) for tokens, nats in curve]


def pair(fell: float, difference: float, training: dict[str, Any] = CONSTANT) -> Comparison:
    """Two seeds of each; both arms fell by so much from step 50 of 100, and tied is above untied by `difference`."""
    curve = [(25, 9.0), (50, 4.0 + fell), (100, 4.0)]
    results = [
        validated_run(variant, curve, seed, training, nats=3.9 + over, hashes=hashes(seed))
        for variant, over in (("tied", difference), ("untied", 0.0))
        for seed in (0, 1)
    ]
    return compared(*results)


def test_a_fall_between_two_scorings_is_linear_in_log_tokens() -> None:
    """At 400 and 800 tokens of 1,600 it is 5 and 4; at 800 exactly, and between them by the logarithm."""
    assert fall_of(points((400, 5.0), (800, 4.0), (1600, 3.5))) == pytest.approx(0.5)
    between = 5.0 - math.log(500 / 400) / math.log(800 / 400)
    assert fall_of(points((400, 5.0), (800, 4.0), (1000, 3.5))) == pytest.approx(between - 3.5)


def test_a_power_law_in_the_logarithm_is_measured_exactly_wherever_it_was_scored() -> None:
    """Of a loss that falls by 0.7 for each doubling, from any scorings."""

    def loss(tokens: int) -> float:
        return 9 - 0.7 * math.log2(tokens)

    for scored in ([100, 1000], [100, 700, 1000], [499, 501, 1000], [500, 1000]):
        assert fall_of(points(*((tokens, loss(tokens)) for tokens in scored))) == pytest.approx(0.7)


@pytest.mark.parametrize("curve", [[], [(1000, 4.0)], [(600, 5.0), (1000, 4.0)]])
def test_without_a_scoring_by_half_of_the_tokens_there_is_no_fall(curve: Sequence[tuple[int, float]]) -> None:
    assert fall_of(points(*curve)) is None


def test_a_fall_larger_than_the_difference_is_a_sign_and_a_smaller_one_is_none() -> None:
    (sign,) = falling(pair(0.4, 0.15))
    assert [sign.value, sign.limit] == pytest.approx([0.4, 0.15])
    assert sign.statement == (
        "validation fell by 0.400 nats per token in the last doubling of tokens, more than the difference of "
        "0.150: a longer run may differ"
    )
    assert falling(pair(0.1, 0.15)) == []
    assert falling(pair(-0.4, 0.15)) == [], "it rose"


def test_of_two_that_are_equal_a_fall_below_what_is_worthwhile_is_no_sign() -> None:
    assert falling(pair(0.009, 0.001)) == []
    assert falling(pair(0.011, 0.001))


def test_the_share_of_a_decaying_rate_is_said() -> None:
    (sign,) = falling(pair(0.4, 0.15, {"schedule": "cosine"}))
    assert "in the last doubling of tokens (in part by the schedule), more than" in sign.statement
    assert [fall.includes_decay for fall in signs_of(pair(0.4, 0.15)).falls] == [False, False]


def test_it_is_the_mean_over_seeds_and_arms() -> None:
    falls = {("tied", 0): 0.2, ("tied", 1): 0.4, ("untied", 0): 0.6, ("untied", 1): 0.8}
    results = [
        validated_run(variant, [(50, 4.0 + fell), (100, 4.0)], seed, nats=4.0 + 0.1 * (variant == "tied"))
        for (variant, seed), fell in falls.items()
    ]
    comparison = compared(*results)
    assert [fall.nats for fall in signs_of(comparison).falls] == pytest.approx([0.3, 0.7])
    (sign,) = falling(comparison)
    assert sign.value == pytest.approx(0.5)


def test_with_several_comparisons_each_names_its_arms() -> None:
    curve = [(50, 4.4), (100, 4.0)]
    nats = {"tied": 4.1, "soft": 4.2, "untied": 4.0}
    results = [validated_run(name, curve, seed, nats=value) for name, value in nats.items() for seed in (0, 1)]
    first, second = falling(compared(*results))
    assert (first.variant, second.variant) == ("tied", "soft")
    assert first.statement.startswith("validation of tied and untied fell by 0.400")


def test_no_sign_comes_of_what_is_absent() -> None:
    """No curve, in one arm or in both; runs that are no pairs; variants equal to the last bit; nothing to compare."""
    bare = signs_of(compared(run_result("tied"), run_result("untied", nats=4.1)))
    assert bare.signs == []
    reason = "validation was not scored by half of the tokens (training.evaluate_every)"
    assert {fall.reason for fall in bare.falls} == {reason}
    curve = [(50, 5.0), (100, 4.0)]
    one_arm = compared(validated_run("tied", curve), run_result("untied", nats=4.1))
    assert signs_of(one_arm).signs == []
    other_batches = validated_run("untied", curve, nats=4.1, hashes=hashes(0, batches="0" * 64))
    assert signs_of(compared(validated_run("tied", curve), other_batches)).signs == []
    assert signs_of(compared(validated_run("tied", curve), validated_run("untied", curve))).signs == []
    assert signs_of(compared(validated_run("untied", curve))).signs == []
