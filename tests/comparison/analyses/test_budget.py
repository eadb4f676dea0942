"""What parameters cost and buy, and what may be said of variants with equally many."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, effective, runs, summarize
from tests.support.matched_runs import BASE, LARGE, matched, shifted, sized
from tiedlm.comparison.analyses.budget import Budget
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.equal_parameters import AtEqualParameters
from tiedlm.comparison.statistics import mean, t_interval
from tiedlm.run.result import Footprint, Memory, RunResult


def compare(*results: Sequence[RunResult], **changes: Any) -> Comparison:
    every = [run for own in results for run in own]
    names = list(dict.fromkeys(run.variant for run in every))
    arguments: dict[str, Any] = {"failures": [], "name": "example", "baseline": "untied", "order": names}
    return summarize(every, **arguments | changes)


def at_equal_parameters(width: Sequence[float], depth: Sequence[float], **changes: Any) -> AtEqualParameters:
    budget = compare(
        runs("tied", shifted(0.1)),
        runs("untied", BASE),
        matched("matched_width", width, **changes),
        matched("matched_depth", depth, **changes),
    ).analysis(Budget)
    assert budget is not None
    (found,) = budget.equal_parameters
    return found


def budget_of(*results: Sequence[RunResult], **changes: Any) -> Budget:
    budget = compare(*results, **changes).analysis(Budget)
    assert budget is not None
    return budget


@pytest.mark.parametrize(("sign", "verdict"), [(-1, "better"), (1, "worse")])
def test_a_winner_at_equal_parameters_is_named_where_both_bodies_name_it(sign: int, verdict: str) -> None:
    found = at_equal_parameters(shifted(sign * 0.05), shifted(sign * 0.03))
    assert found.verdict == verdict
    assert found.p_difference == max(body.difference.p_difference or 1.0 for body in found.bodies)
    assert found.statement.startswith(f"at equal parameters tied is {verdict} than untied on test: the difference is ")
    assert f": the difference is {sign * 0.05:+.4f} matched by width (95 % interval " in found.statement
    assert f"{sign * 0.03:+.4f} matched by depth (95 % interval " in found.statement


@pytest.mark.parametrize("depth", [shifted(0.05), shifted(-0.05, times=60), shifted(0.001)])
def test_one_body_alone_is_no_conclusion(depth: list[float]) -> None:
    """The other leads elsewhere, is not sure, or makes them equal."""
    found = at_equal_parameters(shifted(-0.05), depth)
    assert found.bodies[0].difference.verdict == "better"
    assert found.bodies[1].difference.verdict != "better"
    assert found.verdict == "cannot_tell"
    assert found.statement.startswith("cannot tell at equal parameters whether tied or untied is better on test: ")
    assert "the difference is -0.0500 matched by width (95 % interval " in found.statement
    says = found.bodies[1].difference.verdict
    why = f"; tied is better by width and {says} by depth, and only what both say is concluded"
    assert (why in found.statement) == (says != "cannot_tell"), "both intervals exclude 0, and cannot tell stands there"


def test_they_are_equal_where_both_bodies_make_them_so() -> None:
    found = at_equal_parameters(shifted(0.001), shifted(-0.002))
    assert (found.verdict, found.p_equal) == ("equal", max(body.difference.p_equal or 1 for body in found.bodies))
    assert "equal for practical purposes on test, within ±0.01" in found.statement


def test_a_body_of_another_size_proves_nothing() -> None:
    found = at_equal_parameters(shifted(-0.05), shifted(-0.05), parameters=sized(round(1.02 * LARGE)))
    assert found.verdict == "cannot_tell"
    assert "+2.0 % off untied" in found.statement


def test_what_has_not_finished_or_is_no_pair_is_said() -> None:
    tied, untied = runs("tied", shifted(0.1)), runs("untied", BASE)
    (alone,) = budget_of(tied, untied, matched("matched_width", shifted(-0.05))).equal_parameters
    assert alone.verdict == "cannot_tell"
    assert "no variant that is matched by depth has finished" in alone.statement
    elsewhere = matched("matched_depth", shifted(-0.05), effective=effective(precision="bf16"))
    (apart,) = budget_of(tied, untied, matched("matched_width", shifted(-0.05)), elsewhere).equal_parameters
    assert (apart.verdict, apart.p_difference) == ("cannot_tell", None)
    assert "tied+depth and untied are not pairs" in apart.statement
    one = [own[:1] for own in (tied, untied, matched("matched_width", BASE), matched("matched_depth", shifted(1)))]
    (single,) = budget_of(*one).equal_parameters
    assert (single.verdict, single.p_difference) == ("cannot_tell", None)
    assert "from one seed, which has no spread: the difference is " in single.statement


def test_holm_corrects_over_the_variants_and_the_bodies_each_by_itself() -> None:
    """Two variants, one far from doubt: the p-value of the other is the larger one of its two, times one."""
    tied, untied, soft = runs("tied", shifted(0.1)), runs("untied", BASE), runs("soft", shifted(0.1), tying="tied")
    bodies = [
        matched("matched_width", shifted(-0.05)),
        matched("matched_depth", shifted(-0.05)),
        matched("matched_width", shifted(-0.004, times=2), of="soft"),
        matched("matched_depth", shifted(-0.004), of="soft"),
    ]
    first, second = budget_of(tied, untied, soft, *bodies).equal_parameters
    alone = [max(body.difference.p_difference or 1 for body in each.bodies) for each in (first, second)]
    assert alone[0] < alone[1]
    assert first.p_difference == pytest.approx(2 * alone[0])
    assert second.p_difference == pytest.approx(alone[1])
    assert {first.num_corrected_for, second.num_corrected_for} == {2}
    assert "Holm-corrected for 2 variants" in first.statement


def test_on_pure_noise_a_winner_is_named_in_at_most_5_per_cent() -> None:
    """Both bodies equal to the baseline in truth, their noise strongly alike, which is the worst case for the test."""
    draws, num_experiments, named = np.random.default_rng(7), 300, 0
    for _ in range(num_experiments):
        shared, own = draws.normal(0, 0.02, 5), draws.normal(0, 0.002, (2, 5))
        width, depth = ([nats + both + one for nats, both, one in zip(BASE, shared, each, strict=True)] for each in own)
        named += at_equal_parameters(width, depth).verdict in ("better", "worse")
    assert named / num_experiments <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / num_experiments)
    assert named > 0, "it can be wrong, and so it can be right"


def test_what_the_second_matrix_costs_and_buys() -> None:
    footprints = {
        "tied": Footprint(device="cpu", precision="fp32", micro_batch_size=16, persistent_bytes=16 * 124_439_808),
        "untied": Footprint(device="cpu", precision="fp32", micro_batch_size=16, persistent_bytes=16 * LARGE),
    }
    results = []
    for variant, nats in (("tied", TIED_NATS), ("untied", UNTIED_NATS)):
        for run in runs(variant, nats):
            memory = Memory(
                gpu_peak_allocated_bytes=None,
                gpu_peak_reserved_bytes=None,
                predicted_peak_bytes=None,
                host_peak_rss_bytes=None,
                predicted=footprints[variant],
            )
            config = {**run.config, "training": {**run.config["training"], "optimizer": "adamw"}}
            results.append([run.model_copy(update={"memory": memory, "config": config})])
    for baseline in ("untied", "tied"):
        (each,) = budget_of(*results, baseline=baseline).break_even
        bought = each.outright
        assert (bought.larger, bought.smaller, bought.spent_on) == ("untied", "tied", "itself")
        assert bought.parameters == 38_597_376
        assert bought.parameters_percent == pytest.approx(100 * 38_597_376 / 124_439_808)
        assert (bought.persistent_bytes, bought.optimizer) == (16 * 38_597_376, "adamw")
        assert (bought.flops_per_token, bought.flops_percent) == (0, 0.0)
        differences = [tied - untied for tied, untied in zip(TIED_NATS, UNTIED_NATS, strict=True)]
        assert bought.bought == pytest.approx(mean(differences)), "less than 0: untied, the larger one, has more loss"
        assert bought.bought_ci95 == pytest.approx(t_interval(differences))
        assert bought.bought is not None and bought.bought < 0


def test_as_many_parameters_in_a_body_stand_beside_it_whichever_is_the_baseline() -> None:
    every = (
        runs("tied", shifted(0.1)),
        runs("untied", BASE),
        matched("matched_width", shifted(0.02)),
        matched("matched_depth", shifted(-0.03)),
    )
    for baseline, order in (("untied", every), ("tied", every[::-1])):
        (each,) = budget_of(*order, baseline=baseline).break_even
        width, depth = each.in_body
        assert (width.larger, width.smaller, width.spent_on) == ("tied+width", "tied", "width")
        assert (depth.larger, depth.smaller, depth.spent_on) == ("tied+depth", "tied", "depth")
        assert width.bought == pytest.approx(0.1 - 0.02)
        assert depth.bought == pytest.approx(0.1 + 0.03)
        assert width.flops_percent == pytest.approx(100 * (900_000_000 / 741_857_280 - 1))
    assert budget_of(*every, baseline="tied").equal_parameters == [], "nothing was matched to tied"


def test_a_body_that_gives_parameters_back_is_the_smaller_one() -> None:
    small: dict[str, Any] = {"of": "untied", "tying": "untied", "parameters": sized(124_439_808, 600_000_000)}
    tied = runs("tied", shifted(0.1))
    budget = budget_of(
        tied,
        runs("untied", BASE),
        matched("matched_width", shifted(0.02, times=2), **small),
        matched("matched_depth", shifted(0.03, times=2), **small),
        baseline="tied",
    )
    width, _ = budget.break_even[0].in_body
    assert (width.larger, width.smaller) == ("untied", "untied+width")
    assert width.bought == pytest.approx(0.02)
    (found,) = budget.equal_parameters
    assert (found.variant, found.baseline, found.verdict) == ("untied", "tied", "better")


def test_variants_of_one_size_have_nothing_to_weigh() -> None:
    assert compare(runs("untied", BASE), runs("untied-too", shifted(0.1), tying="untied")).analysis(Budget) is None
    without_baseline = compare(runs("tied", BASE))
    assert without_baseline.analysis(Budget) is None


def test_one_seed_buys_a_figure_without_an_interval_and_strangers_buy_none() -> None:
    comparison = compare(runs("tied", BASE[:1]), runs("untied", shifted(0.1)[:1]))
    budget = comparison.analysis(Budget)
    assert budget is not None
    (single,) = budget.break_even
    assert single.outright.bought == pytest.approx(-0.102)
    assert (single.outright.bought_ci95, single.outright.bought_reason) == (None, "one seed has no spread")
    strangers = runs("tied", BASE, effective=effective(device="cuda"))
    (apart,) = budget_of(strangers, runs("untied", BASE)).break_even
    assert apart.outright.bought is None
    assert "not pairs" in str(apart.outright.bought_reason)


def test_what_was_added_is_in_no_family_and_the_document_can_be_read_again() -> None:
    comparison = compare(
        runs("tied", shifted(0.1)),
        runs("untied", BASE),
        matched("matched_width", shifted(-0.05)),
        matched("matched_depth", shifted(-0.03)),
    )
    assert {found.variant for found in comparison.differences} == {"tied"}
    assert Comparison.model_validate_json(comparison.model_dump_json()) == comparison


def test_a_matched_variant_has_a_difference_on_every_split_beside_the_judged_ones() -> None:
    comparison = compare(
        runs("tied", shifted(0.1)),
        runs("untied", BASE),
        matched("matched_width", shifted(-0.05)),
        matched("matched_depth", shifted(-0.03)),
    )
    found = [(difference.variant, difference.split) for difference in comparison.all_differences]
    assert found == [(name, split) for name in ("tied", "tied+width", "tied+depth") for split in ("test", "validation")]
