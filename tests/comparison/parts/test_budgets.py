"""How a difference changes with the tokens: a line for each seed, and what it says of the size of the difference."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from tests.support.parts import Nats, part_comparison, part_runs
from tiedlm.comparison.parts.budgets import measure_budgets, slope
from tiedlm.comparison.parts.document import Trend
from tiedlm.comparison.parts.statements import budget_statements
from tiedlm.comparison.statistics import mean, t_interval

WIGGLE = [0.001, -0.002, 0.002, 0.0005, -0.0015]
OTHER = [-0.001, 0.0015, 0.002, -0.0025, 0.0005]
THIRD = [0.002, 0.0005, -0.001, -0.002, 0.001]
TOKENS = 1_000_000


def nats(difference: float, wiggle: Sequence[float], baseline: float = 4.0) -> Nats:
    return {"tied": [baseline + difference + each for each in wiggle], "untied": [baseline] * len(wiggle)}


def trend(differences: Mapping[float, float], num_seeds: int = 5, **question: Any) -> Trend:
    """Of an experiment with these mean differences, by factor of its length."""
    (found,) = measure_budgets(*made_up(differences, num_seeds, **question)).trends
    return found


def made_up(differences: Mapping[float, float], num_seeds: int = 5, **question: Any) -> tuple[Any, dict[str, float]]:
    comparisons = {
        f"budget-{factor:g}": part_comparison(
            part_runs(
                nats(difference, (WIGGLE, OTHER, THIRD)[index][:num_seeds]),
                {"training.tokens": round(factor * TOKENS)},
                tokens_seen=round(factor * TOKENS),
            ),
            **question,
        )
        for index, (factor, difference) in enumerate(differences.items())
    }
    return comparisons, {f"budget-{factor:g}": factor for factor in differences}


def test_the_slope_is_that_of_least_squares() -> None:
    draws = np.random.default_rng(0)
    places, values = draws.normal(size=6), draws.normal(size=6)
    assert slope(places.tolist(), values.tolist()) == pytest.approx(np.polyfit(places, values, 1)[0], rel=1e-9)


def test_a_line_of_each_seed_over_log2_of_the_tokens_with_students_interval_over_seeds() -> None:
    found = trend({1: -0.2, 4: -0.1})
    slopes = [(-0.1 + late - (-0.2 + early)) / 2 for early, late in zip(WIGGLE, OTHER, strict=True)]
    assert found.per_seed == pytest.approx(slopes)
    assert found.per_doubling == pytest.approx(mean(slopes))
    assert found.ci95 == pytest.approx(t_interval(slopes))
    assert [(each.budget, each.part, each.tokens_seen, each.verdict) for each in found.at] == [
        (1, "budget-1", TOKENS, "better"),
        (4, "budget-4", 4 * TOKENS, "better"),
    ]


@pytest.mark.parametrize(
    ("differences", "direction"),
    [
        ({1: -0.2, 4: -0.1}, "shrinks"),
        ({1: 0.2, 4: 0.1}, "shrinks"),
        ({1: -0.1, 4: -0.2}, "grows"),
        ({1: 0.1, 2: 0.15, 4: 0.2}, "grows"),
        ({1: -0.1, 4: 0.1}, "changes_sign"),
        ({1: 0.1, 2: 0.0, 4: -0.05}, "changes_sign"),
        ({1: -0.1, 4: -0.101}, "steady"),
        ({1: -0.05, 4: 0.0}, "shrinks"),
        ({1: -0.025, 4: 0.0245}, "changes_sign"),
    ],
)
def test_direction_is_that_of_the_size_of_the_difference(differences: dict[float, float], direction: str) -> None:
    found = trend(differences)
    assert found.direction == direction
    assert budget_statements(measure_budgets(*made_up(differences)), "untied", 0.01)


def test_one_seed_or_one_budget_gives_no_direction_and_says_why() -> None:
    one_seed = trend({1: -0.2, 4: -0.1}, num_seeds=1)
    assert one_seed.per_doubling is not None
    assert (one_seed.ci95, one_seed.direction, one_seed.absent) == (
        None,
        "cannot_tell",
        {"ci95": "one seed has no spread"},
    )
    one_budget = trend({1: -0.2})
    assert (one_budget.per_doubling, one_budget.direction) == (None, "cannot_tell")
    assert one_budget.absent["per_doubling"] == "fewer than two budgets have a difference"
    comparisons, factors = made_up({1: -0.2, 4: -0.1})
    comparisons["budget-4"] = part_comparison(
        [run.model_copy(update={"seed": run.seed + 10}) for run in part_runs(nats(-0.1, OTHER), tokens_seen=4 * TOKENS)]
    )
    (found,) = measure_budgets(comparisons, factors).trends
    assert found.absent["per_doubling"] == "no seed has finished at every budget"


def test_a_line_without_any_change_in_any_seed_is_steady() -> None:
    same = {
        f"budget-{factor}": part_comparison(part_runs(nats(-0.1, WIGGLE), tokens_seen=factor * TOKENS))
        for factor in (1, 2)
    }
    (found,) = measure_budgets(same, {"budget-1": 1, "budget-2": 2}).trends
    assert (found.per_doubling, found.direction) == (0, "steady")


def test_noise_that_grows_or_shrinks_by_chance_cannot_be_told() -> None:
    noisy = {
        "budget-1": part_comparison(part_runs(nats(-0.1, [0.1, -0.1, 0.05]), tokens_seen=TOKENS)),
        "budget-2": part_comparison(part_runs(nats(-0.08, [-0.1, 0.1, 0.1]), tokens_seen=2 * TOKENS)),
    }
    budgets = measure_budgets(noisy, {"budget-1": 1, "budget-2": 2})
    assert budgets.trends[0].direction == "cannot_tell"
    said = budget_statements(budgets, "untied", 0.01)
    assert said[0].startswith("cannot tell whether the difference between tied and untied shrinks or grows: it changes")
    assert said[1] == "cannot tell at 1M tokens (-0.083) and 2M tokens (-0.047)"


def test_several_variants_are_corrected_but_for_the_primary_one() -> None:
    comparisons = {}
    for factor, difference in ((1, -0.2), (4, -0.1)):
        each = nats(difference, WIGGLE if factor == 1 else OTHER)
        more = {name: [value + shift for value in each["tied"]] for name, shift in (("soft", 0.3), ("copy", 0.5))}  # type: ignore[operator]
        comparisons[f"budget-{factor}"] = part_comparison(
            part_runs({**each, **more}, tokens_seen=factor * TOKENS),
            order=["soft", "copy", "tied", "untied"],
            primary="tied",
        )
    trends = measure_budgets(comparisons, {"budget-1": 1, "budget-4": 4}).trends
    assert [(each.variant, each.num_corrected_for) for each in trends] == [("tied", 1), ("soft", 2), ("copy", 2)]
    assert trends[0].p_change is not None and trends[1].p_change == pytest.approx(2 * trends[0].p_change)


def test_the_sentences_name_direction_change_and_every_budget() -> None:
    said = budget_statements(measure_budgets(*made_up({1: -0.2, 4: -0.1})), "untied", 0.01)
    assert said == [
        "the difference between tied and untied shrinks by 0.0501 nats per token with each doubling of the tokens "
        "(change +0.0501, 95 % interval +0.0484 to +0.0517)",
        "tied is better than untied at 1M tokens (-0.200) and 4M tokens (-0.100)",
    ]
    said = budget_statements(measure_budgets(*made_up({1: -0.1, 4: 0.1})), "untied", 0.01)
    assert said[0].startswith(
        "the sign turns with the length of training: the difference between tied and untied changes"
    )
    assert (
        said[1] == "tied is better than untied at 1M tokens (-0.100), tied is worse than untied at 4M tokens (+0.100)"
    )
    said = budget_statements(measure_budgets(*made_up({1: -0.1, 4: -0.101})), "untied", 0.01)
    assert said[0].startswith("the difference between tied and untied is steady: it changes by less than 0.01 nats per")
