"""A recipe is chosen on validation by some seeds, and how sure that choice is, is known."""

import numpy as np
import pytest

from tests.support.finished_runs import run_result, split_result
from tests.support.parts import part_runs
from tiedlm.comparison.parts.choice import choose, sd_of_choice


def test_the_recipe_with_the_lowest_mean_validation_loss_wins_whatever_the_other_seeds_and_test_say() -> None:
    results = {
        "default": part_runs({"tied": [4.0, 4.2, 1.0], "untied": [4.0, 4.0, 4.0]}),
        "scaled": part_runs({"tied": [4.05, 4.05, 9.0], "untied": [4.2, 4.2, 1.0]}),
    }
    assert choose(results, "tied", [0, 1]).recipe == "scaled"
    assert choose(results, "untied", [0, 1]).recipe == "default"
    splits = {"validation": split_result(9.0), "test": split_result(0.1)}
    results["fast"] = [run_result("tied", seed, splits=splits) for seed in (0, 1)]
    assert choose(results, "tied", [0, 1]).recipe == "scaled"


def test_of_equal_recipes_the_first_is_chosen() -> None:
    same = {"tied": [4.0, 4.1]}
    assert choose({"b": part_runs(same), "a": part_runs(same)}, "tied", [0, 1]).recipe == "b"


def test_a_recipe_without_every_choosing_seed_cannot_win() -> None:
    results = {"default": part_runs({"tied": [4.0, 4.0]}), "fast": part_runs({"tied": [1.0, None]})}
    assert choose(results, "tied", [0, 1]).recipe == "default"
    assert choose(results, "tied", [0]).recipe == "fast"


def test_where_none_can_be_chosen_the_reason_is_said() -> None:
    results = {"default": part_runs({"tied": [4.0, None]}), "fast": part_runs({"tied": [None, None]})}
    found = choose(results, "tied", [0, 1])
    assert found.recipe is None
    assert found.reason == ("default has no validation loss of seed 1; fast has no validation loss of seeds 0, 1")


def test_losses_of_other_tokens_are_no_choice() -> None:
    other = {"validation": split_result(0, nll=100.0, tokens=50)}
    results = {"default": part_runs({"tied": [4.0]}), "bytes": [run_result("tied", 0, splits=other)]}
    found = choose(results, "tied", [0])
    assert (found.recipe, found.reason) == (None, "the recipes did not score the same validation tokens")


def test_a_choice_that_is_clear_or_none_at_all_has_no_error() -> None:
    assert sd_of_choice({"one": [4.0]}, {"one": [5.0]}) == 0
    clear = {"a": [4.0, 4.01, 4.0], "b": [5.0, 5.0, 5.01]}
    assert sd_of_choice(clear, clear) == 0


def test_one_choosing_seed_does_not_say_how_sure_a_choice_is() -> None:
    assert sd_of_choice({"a": [4.0], "b": [4.1]}, {"a": [4.0], "b": [4.1]}) is None


def test_the_error_of_a_choice_between_two_is_how_often_it_would_fall_on_the_other() -> None:
    """d apart with standard error s each: the other is taken with probability Phi(-d / (s sqrt 2)), and d is lost."""
    from scipy.stats import norm

    spread, apart = 0.3, 0.1
    # residuals of +-spread/2, which are all of the variation: two recipes, two seeds, one degree of freedom
    losses = {"a": [4.0 + spread / 2, 4.0 - spread / 2], "b": [4.0 + apart - spread / 2, 4.0 + apart + spread / 2]}
    sd = spread  # sqrt(4 (spread / 2)^2 / 1)
    other = norm.cdf(-apart / (sd / np.sqrt(2) * np.sqrt(2)))
    assert sd_of_choice(losses, {"a": [4.0, 4.0]}) == pytest.approx(apart * np.sqrt(other), rel=0.05)


def test_variants_whose_noise_is_the_same_choose_together_and_the_choice_costs_nothing() -> None:
    draws = np.random.default_rng(0).normal(4, 0.1, (4, 3))
    losses = {f"recipe-{index}": each.tolist() for index, each in enumerate(draws)}
    worse = {recipe: [loss + 0.5 for loss in each] for recipe, each in losses.items()}
    assert sd_of_choice(losses, worse) == pytest.approx(0, abs=1e-12)
    apart = np.random.default_rng(1).normal(4, 0.1, (4, 3))
    assert (sd_of_choice(losses, {f"recipe-{index}": each.tolist() for index, each in enumerate(apart)}) or 0) > 0.01
