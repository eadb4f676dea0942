"""Tokens until a variant is where the baseline ends: on curves made by hand, where the answer is plain."""

import pytest

from tests.support.finished_runs import compared, effective
from tests.support.validated_runs import BASE, validated_run
from tiedlm.comparison.analyses.tokens_to_reach import SeedReach, TokensToReach
from tiedlm.run.result import RunResult


def reach_of(*results: RunResult) -> TokensToReach:
    reach = compared(*results).analysis(TokensToReach)
    assert reach is not None
    return reach


def seed_reach(variant: RunResult, baseline: RunResult) -> SeedReach:
    """Of the variant beside the baseline."""
    return reach_of(baseline, variant).variants[1].per_seed[0]


def test_the_answer_is_linear_between_two_validations() -> None:
    """4.5 at 400 tokens, 3.5 at 800: 4.0 is half-way."""
    found = seed_reach(validated_run("tied", [(40, 4.5), (80, 3.5), (100, 3.4)]), validated_run("untied", BASE))
    assert (found.target, found.tokens, found.reason) == (4.0, 600.0, None)


@pytest.mark.parametrize(("last", "tokens"), [(4.0, 1_000.0), (3.0, 750.0)])
def test_a_target_met_exactly_is_met(last: float, tokens: float) -> None:
    """On the way to 4.0 at 1,000 tokens it arrives there; on the way to 3.0 it passes half-way."""
    assert seed_reach(validated_run("tied", [(50, 5.0), (100, last)]), validated_run("untied", BASE)).tokens == tokens


def test_the_baseline_stands_among_them_and_is_there_when_its_curve_first_was() -> None:
    """A curve that wavers: 3.9 at step 60 and 4.0 at the end."""
    own = reach_of(validated_run("untied", [(20, 4.1), (60, 3.9), (100, 4.0)])).variants[0]
    assert (own.variant, own.share) == ("untied", 1.0)
    assert own.tokens == pytest.approx(400.0)


def test_one_that_never_arrives_and_one_that_was_there_before_the_first_validation_say_so() -> None:
    never = seed_reach(validated_run("tied", [(50, 5.0), (100, 4.1)]), validated_run("untied", BASE))
    assert (never.tokens, never.reason) == (None, "not reached within 1,000 tokens")
    early = seed_reach(validated_run("tied", [(50, 3.9), (100, 3.8)]), validated_run("untied", BASE))
    assert (early.tokens, early.reason) == (None, "there already at the first validation, after 500 tokens")


def test_a_mean_needs_every_seed() -> None:
    """Those that arrive are the better ones: their mean alone would flatter."""
    base = [validated_run("untied", BASE, seed) for seed in (0, 1)]
    fast, slow = validated_run("tied", [(50, 4.5), (100, 3.5)], 0), validated_run("tied", [(50, 5.0), (100, 4.2)], 1)
    both = validated_run("tied", [(50, 4.25), (100, 3.25)], 1)
    half = reach_of(*base, fast, slow).variants[1]
    assert (half.tokens, half.share, half.reason) == (None, None, "seed 1: not reached within 1,000 tokens")
    assert [one.tokens for one in half.per_seed] == [750.0, None]
    whole = reach_of(*base, fast, both).variants[1]
    assert (whole.tokens, whole.share, whole.reason) == (687.5, 0.6875, None)


def test_the_share_is_of_what_the_baseline_takes_with_the_same_seeds() -> None:
    """Of seed 1 the variant has no run, and that the baseline is there at 400 tokens with it is no matter of seed 0."""
    base = [validated_run("untied", BASE, 0), validated_run("untied", [(30, 4.1), (50, 3.9), (100, 4.0)], 1)]
    own, other = reach_of(*base, validated_run("tied", [(50, 4.5), (100, 3.5)], 0)).variants
    assert [one.tokens for one in own.per_seed] == pytest.approx([1_000.0, 400.0])
    assert (other.tokens, other.share) == (750.0, 0.75)


def test_of_a_baseline_that_was_there_before_its_first_validation_there_is_no_share() -> None:
    """It overfits: where it ends it was before it was first validated."""
    own, other = reach_of(
        validated_run("untied", [(50, 4.0), (100, 4.5)]), validated_run("tied", [(50, 5.0), (100, 4.0)])
    ).variants
    assert (own.tokens, own.share, other.tokens, other.share) == (None, None, 750.0, None)


@pytest.mark.parametrize("schedule", ["cosine", "step"])
def test_under_a_rate_that_falls_from_the_start_there_is_no_answer_but_the_reason(schedule: str) -> None:
    training = {"schedule": schedule}
    reach = reach_of(validated_run("untied", BASE, training=training), validated_run("tied", BASE, training=training))
    assert (reach.is_final, reach.variants) == (None, [])
    assert reach.reason is not None and schedule in reach.reason
    mixed = seed_reach(validated_run("tied", BASE, training=training), validated_run("untied", BASE))
    assert mixed.tokens is None
    assert mixed.reason is not None and schedule in mixed.reason


def test_under_wsd_only_what_came_before_the_decay_is_compared() -> None:
    """The last 20 of 100 steps decay; the fall at the end is no gain of the variant's."""
    wsd = {"schedule": "wsd", "decay": 0.2}
    base = validated_run("untied", [(40, 5.0), (80, 4.5), (90, 4.0), (100, 3.5)], training=wsd)
    reach = reach_of(base, validated_run("tied", [(40, 5.0), (80, 4.0), (100, 3.0)], training=wsd))
    assert reach.is_final is False
    assert (reach.variants[1].per_seed[0].target, reach.variants[1].tokens) == (4.5, 600.0)
    late = seed_reach(validated_run("tied", [(40, 5.0), (80, 4.6), (100, 3.0)], training=wsd), base)
    assert (late.tokens, late.reason) == (None, "not reached within 800 tokens")


def test_without_validations_on_the_way_that_is_the_reason() -> None:
    found = seed_reach(validated_run("tied", [(100, 3.0)]), validated_run("untied", [(100, 4.0)]))
    assert (found.tokens, found.reason) == (None, "too few validations on the way (training.evaluate_every)")
    assert seed_reach(validated_run("tied", []), validated_run("untied", [])).target is None


def test_runs_that_are_no_pairs_are_not_held_against_each_other() -> None:
    found = seed_reach(
        validated_run("tied", [(50, 4.5), (100, 3.5)], effective=effective(precision="bf16")),
        validated_run("untied", BASE),
    )
    assert found.tokens is None
    assert found.reason is not None and "bf16 against fp32" in found.reason


def test_the_baseline_drawn_anew_measures_noise_and_is_not_among_them() -> None:
    drawn = validated_run("untied+redrawn", BASE)
    drawn = drawn.model_copy(update={"config": {**drawn.config, "added": {"role": "noise_floor", "of": "untied"}}})
    assert [one.variant for one in reach_of(validated_run("untied", BASE), drawn).variants] == ["untied"]
