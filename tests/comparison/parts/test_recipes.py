"""Within each recipe, across them, and best against best: what made-up runs with known differences come to."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.finished_runs import effective, run_result
from tests.support.parts import MadeUp, Nats, around, part_comparison, part_runs, set_keys
from tests.support.stored_parts import StoredParts
from tiedlm.comparison.parts.across import left_out
from tiedlm.comparison.parts.statements import recipe_statements
from tiedlm.comparison.statistics import t_interval
from tiedlm.run.folder import raw_config

SHIFTS = [0.01, -0.01, 0.004, -0.006, 0.002]
WIGGLE = [0.001, -0.002, 0.002, 0.0005, -0.0015]
SCALE, RATE = "model.tying.input_scale", "training.learning_rate"


def nats(level: float, difference: float, num_seeds: int = 5) -> Nats:
    """Untied around a level, tied this much beside it."""
    untied = around(level, SHIFTS[:num_seeds])
    return {
        "tied": [base + difference + shift for base, shift in zip(untied, WIGGLE, strict=False)],
        "untied": untied,
    }


def turned(choosing: tuple[int, ...] = (0, 1, 2), judging: tuple[int, ...] = (3, 4)) -> MadeUp:
    """Tied is better without a scale and worse with one, under either rate; 0.2 is lost without it."""
    recipes: dict[str, tuple[dict[str, Any], Nats]] = {
        "default": ({SCALE: 1.0, RATE: 1e-3}, nats(4.2, -0.1)),
        "scaled": ({SCALE: "sqrt_dim", RATE: 1e-3}, nats(4.0, 0.05)),
        "fast-scaled": ({SCALE: "sqrt_dim", RATE: 2e-3}, nats(4.1, 0.06)),
    }
    return MadeUp(recipes, choosing, judging)


def test_within_a_recipe_it_is_what_its_own_comparison_says() -> None:
    within = turned().measured().within
    assert [(each.recipe, each.verdict) for each in within] == [
        ("default", "better"),
        ("scaled", "worse"),
        ("fast-scaled", "worse"),
    ]
    assert within[0].mean == pytest.approx(-0.1 + sum(WIGGLE) / 5)
    assert within[0].ci95_seeds == pytest.approx(t_interval([-0.1 + each for each in WIGGLE]))
    assert within[1].settings == {SCALE: "sqrt_dim", RATE: 1e-3}


def test_where_the_sign_turns_the_key_that_turns_it_is_named_and_no_other() -> None:
    """default and fast-scaled differ in two keys, default and scaled in one."""
    (across,) = turned().measured().across
    assert across.sign_turns
    (key,) = across.turned_by
    assert (key.key, key.better_value, key.worse_value) == (SCALE, 1.0, "sqrt_dim")
    assert (key.better_recipe, key.worse_recipe) == ("default", "scaled")
    assert (across.better, across.worse, across.num_better, across.num_worse, across.recipes) == (1, 2, 1, 2, 3)


def test_a_key_of_one_variant_alone_is_named_as_that_of_the_variant() -> None:
    recipes: dict[str, tuple[dict[str, Any], Nats]] = {
        "default": ({}, nats(4.2, -0.1)),
        "careful": ({f"variants.untied.{RATE}": 1e-4}, nats(4.0, 0.05)),
    }
    (key,) = MadeUp(recipes, (0, 1, 2), (3, 4)).measured().across[0].turned_by
    assert (key.key, key.better_value, key.worse_value) == (f"variants.untied.{RATE}", 6e-4, 1e-4)


def test_a_turn_among_many_recipes_needs_more_than_a_verdict_of_five_per_cent() -> None:
    """Two recipes may turn on a p-value of 0.04; of six, one of the two may be chance."""
    noisy = {"tied": [3.995, 4.035, 4.05, 4.03, 4.035], "untied": [4.0] * 5}
    recipes: dict[str, tuple[dict[str, Any], Nats]] = {"default": ({}, nats(4, -0.1)), "noisy": ({RATE: 2.0}, noisy)}
    two = MadeUp(recipes, (0, 1, 2), (3, 4)).measured()
    assert [each.verdict for each in two.within] == ["better", "worse"]
    assert two.across[0].sign_turns
    many = {f"like-{index}": ({RATE: float(index)}, nats(4, -0.1)) for index in range(4)}
    six = MadeUp(recipes | many, (0, 1, 2), (3, 4)).measured()
    assert (six.across[0].num_better, six.across[0].num_worse, six.across[0].sign_turns) == (5, 1, False)
    assert recipe_statements(six, "untied", 0.01)[0].startswith("cannot tell whether the sign turns with the recipe")


def test_across_recipes_the_interval_is_that_of_their_means_and_the_next_recipe_is_foretold() -> None:
    (across,) = turned().measured().across
    means = [centre + sum(WIGGLE) / 5 for centre in (-0.1, 0.05, 0.06)]
    assert across.mean == pytest.approx(sum(means) / 3)
    assert across.ci95 == pytest.approx(t_interval(means))
    spread = float(np.var(means, ddof=1))
    assert across.between == pytest.approx(math.sqrt(spread - float(np.var(WIGGLE, ddof=1)) / 5))
    assert across.prediction95 is not None
    half = (across.prediction95[1] - across.prediction95[0]) / 2
    assert half == pytest.approx(4.302652730 * math.sqrt(spread * (1 + 1 / 3)), rel=1e-8)


def test_what_a_seed_does_under_all_recipes_widens_the_interval_of_the_mean() -> None:
    """The recipes agree to 0.001, the seeds do not: the spread between recipes alone would not show it."""
    alike = {f"recipe-{index}": ({RATE: float(index)}, nats(4.0, 0.001 * index)) for index in range(4)}
    (across,) = MadeUp(alike, (0, 1, 2), (3, 4)).measured().across
    per_seed = [0.0015 + each for each in WIGGLE]
    interval = t_interval(per_seed)
    assert interval is not None and across.ci95 is not None
    assert across.ci95[1] - across.ci95[0] == pytest.approx(interval[1] - interval[0])


def test_with_one_seed_there_is_a_mean_and_nothing_else() -> None:
    one = {"a": ({}, nats(4.0, -0.1, 1)), "b": ({RATE: 1.0}, nats(4.0, -0.2, 1))}
    (across,) = MadeUp(one, (0,), ()).measured().across
    assert across.mean == pytest.approx(-0.15 + WIGGLE[0])
    assert (across.ci95, across.prediction95, across.between) == (None, None, None)
    assert across.absent == dict.fromkeys(("ci95", "prediction95", "between"), "one seed has no spread")


def test_recipes_under_which_nothing_has_finished_are_not_counted() -> None:
    recipes = {"a": ({}, nats(4.0, -0.1)), "b": ({RATE: 1.0}, {"tied": [4.0], "untied": []})}
    found = MadeUp(recipes, (0, 1, 2), (3, 4)).measured()
    assert [(each.recipe, each.num_seeds) for each in found.within] == [("a", 5), ("b", 0)]
    assert found.within[1].absent["mean"] == "no seed has finished in both"
    assert found.across[0].recipes == 1
    assert found.across[0].absent["prediction95"] == "one recipe has no spread between recipes"


def test_each_variant_is_judged_under_its_own_best_recipe_by_seeds_that_did_not_choose() -> None:
    """Tied is best with the scale too, where it is worse; its lead without the scale does not count."""
    (best,) = turned().measured().best_against_best
    assert (best.recipe, best.baseline_recipe) == ("scaled", "scaled")
    assert (best.chosen_by, best.judged_by, best.num_seeds) == ([0, 1, 2], [3, 4], 2)
    assert best.per_seed == pytest.approx([0.05 + each for each in WIGGLE[3:]])
    assert (best.verdict, best.sd_of_choice, best.is_primary) == ("worse", 0.0, True)
    assert best.ci95_seeds == pytest.approx(t_interval([0.05 + each for each in WIGGLE[3:]]))


def test_variants_may_have_different_best_recipes() -> None:
    recipes: dict[str, tuple[dict[str, Any], Nats]] = {
        "for-tied": ({}, nats(5.0, -1.0)),
        "for-untied": ({RATE: 1.0}, nats(4.1, 0.5)),
    }
    (best,) = MadeUp(recipes, (0, 1), (2, 3, 4)).measured().best_against_best
    assert (best.recipe, best.baseline_recipe) == ("for-tied", "for-untied")
    assert best.mean == pytest.approx(-0.1 + sum(WIGGLE[2:]) / 3)
    assert best.verdict == "better"


def test_an_unsure_choice_widens_the_interval_and_the_seeds_that_would_tell() -> None:
    close: dict[str, tuple[dict[str, Any], Nats]] = {
        "a": ({}, {"tied": [4.0, 4.1, 4.0, 4.01, 4.02], "untied": [4.03, 4.0, 4.02, 4.03, 4.01]}),
        "b": ({RATE: 1.0}, {"tied": [4.05, 4.02, 4.03, 4.0, 4.0], "untied": [4.1, 4.0, 4.03, 4.03, 4.01]}),
    }
    (best,) = MadeUp(close, (0, 1), (2, 3, 4)).measured().best_against_best
    assert best.sd_of_choice is not None and best.sd_of_choice > 0
    plain = t_interval(best.per_seed)
    assert plain is not None and best.ci95_seeds is not None
    assert best.ci95_seeds[0] < plain[0] < plain[1] < best.ci95_seeds[1]
    assert best.verdict == "cannot_tell" and best.seeds_needed is not None


def test_a_judging_seed_that_is_missing_is_a_reason_and_no_smaller_sample() -> None:
    made = turned()
    made.results["scaled"] = [run for run in made.results["scaled"] if (run.variant, run.seed) != ("untied", 4)]
    (best,) = made.measured().best_against_best
    assert (best.recipe, best.mean, best.ci95_seeds, best.per_seed) == ("scaled", None, None, [])
    assert best.absent["mean"] == "untied under scaled has no result with seed 4"


def test_nothing_is_chosen_while_a_choosing_run_is_still_to_come() -> None:
    (best,) = turned().measured(planned={"tied": (0, 1, 2, 3, 4), "untied": (0, 1, 2, 3, 4)}).best_against_best
    assert best.recipe == "scaled"
    made = turned()
    made.results["default"] = [run for run in made.results["default"] if (run.variant, run.seed) != ("untied", 2)]
    (best,) = made.measured(planned={"tied": (0, 1, 2), "untied": (0, 1, 2)}).best_against_best
    assert (best.recipe, best.baseline_recipe) == ("scaled", None)
    assert best.absent["baseline_recipe"] == "runs that choose are still to come"
    assert best.absent["mean"] == "untied: runs that choose are still to come"


def test_a_recipe_that_diverged_cannot_win_and_the_others_go_on() -> None:
    made = turned()
    made.results["scaled"] = [run for run in made.results["scaled"] if (run.variant, run.seed) != ("tied", 1)]
    (best,) = made.measured().best_against_best
    assert (best.recipe, best.baseline_recipe) == ("default", "scaled")


def test_one_seed_that_judges_or_chooses_is_not_enough() -> None:
    (best,) = turned((0, 1, 2), (3,)).measured().best_against_best
    assert best.mean == pytest.approx(0.05 + WIGGLE[3])
    assert (best.ci95_seeds, best.verdict) == (None, "cannot_tell")
    assert best.absent["ci95_seeds"] == "one seed has no spread"
    (best,) = turned((0,), (3, 4)).measured().best_against_best
    assert (best.ci95_seeds, best.sd_of_choice, best.verdict) == (None, None, "cannot_tell")
    assert "one choosing seed has no spread" in best.absent["ci95_seeds"]
    (best,) = turned((0, 1, 2), ()).measured().best_against_best
    assert best.absent["mean"] == "no seed judges"


def test_recipes_of_another_batch_size_are_no_pairs_and_are_compared_all_the_same() -> None:
    made = turned()
    other = [
        run.model_copy(update={"hashes": run.hashes.model_copy(update={"batches": "0"})})
        for run in made.results["default"]
    ]
    made.results["default"] = [
        run.model_copy(update={"splits": {split: part_runs({"tied": [3.5]})[0].splits[split] for split in run.splits}})
        if run.variant == "tied"
        else run
        for run in other
    ]
    (best,) = made.measured().best_against_best
    assert (best.recipe, best.baseline_recipe, best.pairing_level) == ("default", "scaled", "none")
    assert best.ci95_seeds is not None


def test_runs_of_another_machine_are_not_compared() -> None:
    made = turned()
    made.results["scaled"] = [
        run.model_copy(update={"effective": effective(device="cuda:0", device_name="H100")})
        if run.variant == "tied"
        else run
        for run in made.results["scaled"]
    ]
    (best,) = made.measured().best_against_best
    assert best.mean is None
    assert best.absent["mean"] == "device differs: cuda (H100) against cpu (Any CPU)"


def test_of_several_variants_one_is_primary_and_the_others_are_corrected_for_their_number() -> None:
    made = turned()
    for recipe, runs in made.results.items():
        for name, shift in (("soft", 0.2), ("copy", 0.3)):
            runs += [
                run_result(
                    name, run.seed, run.splits["test"].nll / run.splits["test"].tokens + shift, config=run.config
                )
                for run in runs
                if run.variant == "tied"
            ]
        made.results[recipe] = runs
    found = made.measured(order=["soft", "tied", "untied", "copy"], primary="tied")
    assert [each.variant for each in found.across] == ["tied", "soft", "copy"]
    assert [(each.variant, each.num_corrected_for) for each in found.best_against_best] == [
        ("tied", 1),
        ("soft", 2),
        ("copy", 2),
    ]
    assert len(found.within) == 9


def test_the_sentences_name_the_turn_first_then_how_often_then_each_at_its_best() -> None:
    said = recipe_statements(turned().measured(), "untied", 0.01)
    assert said[0] == (
        f"the sign turns with the recipe: with {SCALE} 1 (default) tied is better than untied, with sqrt_dim (scaled) "
        "it is worse"
    )
    assert said[1].startswith(
        "tied is worse than untied in 2 of 3 recipes, better in 1: the mean difference is +0.0033 nats per token, and "
        "the same seeds under another recipe would show -0.4420 to +0.4486 (95 % prediction interval)"
    )
    assert said[2].startswith(
        "each at its own best recipe, scaled for both: tied is worse than untied by 0.049 nats per token (95 % interval"
    )
    assert said[2].endswith("; chosen by 3 seeds, judged by 2 others)")


def test_what_cannot_be_told_is_said_so() -> None:
    noisy = {"tied": [4.0, 4.1, 4.2, 4.0], "untied": [4.1, 4.0, 4.2, 4.02]}
    other = {"tied": [4.5, 4.1, 4.2, 4.0], "untied": [4.1, 4.0, 4.8, 4.02]}
    said = recipe_statements(
        MadeUp({"a": ({}, noisy), "b": ({RATE: 1.0}, other)}, (0, 1), (2, 3)).measured(), "untied", 0.01
    )
    assert said[0].startswith(
        "cannot tell in any of 2 recipes whether tied or untied is better (the difference is below 0 in 2, above 0 in "
    )
    assert said[1].startswith("each at its own best recipe, a for both: cannot tell whether tied or untied is better")
    assert said[1].endswith("seeds would tell a difference of 0.01")


def test_one_recipe_of_which_nothing_can_be_told_is_one_recipe() -> None:
    noisy = {"tied": [4.0, 4.1, 4.2, 4.0], "untied": [4.1, 4.0, 4.2, 4.02]}
    said = recipe_statements(MadeUp({"a": ({}, noisy)}, (0, 1), (2, 3)).measured(), "untied", 0.01)
    assert said[0].startswith("cannot tell in one recipe whether tied or untied is better (the difference is below 0")


def test_equal_recipes_are_counted_as_equal() -> None:
    same = {name: ({RATE: rate}, nats(4.0, 0.0)) for name, rate in (("a", 1.0), ("b", 2.0))}
    said = recipe_statements(MadeUp(same, (0, 1, 2), (3, 4)).measured(), "untied", 0.01)
    assert said[0].startswith(
        "tied and untied are equal for practical purposes in 2 of 2 recipes: the mean difference is"
    )
    alike = "tied and untied are equal for practical purposes (90 % interval"
    assert said[1].startswith(f"each at its own best recipe, a for both: {alike}") or "cannot tell" in said[1]


def test_a_turn_of_any_variant_stands_first_and_of_many_keys_the_number_is_said() -> None:
    made = turned()
    many = {f"training.key_{index}": index for index in range(4)}
    made.results["default"] = [set_keys(run, many) for run in made.results["default"]]
    for runs in made.results.values():
        runs += [run_result("soft", seed, 3.0 + shift) for seed, shift in enumerate(WIGGLE)]
    said = recipe_statements(made.measured(order=["soft", "tied", "untied"], primary="soft"), "untied", 0.01)
    assert said[0] == (
        "the sign turns with the recipe: under default (they differ in 5 keys) tied is better than untied, under "
        "scaled it is worse"
    )
    assert said[1].startswith("soft is better than untied in 3 of 3 recipes, worse in none")


def test_of_configs_as_they_are_planned_only_what_the_recipe_changes_turns_the_sign(tmp_path: Path) -> None:
    made = turned()
    stored = StoredParts(tmp_path, seeds=(0,))
    for recipe, settings in (
        ("default", {}),
        ("scaled", {SCALE: "sqrt_dim"}),
        ("fast-scaled", {SCALE: 2.0, RATE: 0.5}),
    ):
        configs = {run.config.variant: raw_config(run.config) for run in stored.runs(recipe, settings, (0,))}
        made.results[recipe] = [run.model_copy(update={"config": configs[run.variant]}) for run in made.results[recipe]]
    (key,) = made.measured().across[0].turned_by
    assert (key.key, key.better_value, key.worse_value) == (SCALE, 1.0, "sqrt_dim")


def test_a_recipe_whose_runs_are_no_pairs_stands_in_no_figure_over_all_and_is_named() -> None:
    made = turned()
    made.results["default"] = [
        run.model_copy(update={"hashes": run.hashes.model_copy(update={"batches": "0"})})
        if run.variant == "tied"
        else run
        for run in made.results["default"]
    ]
    found = made.measured()
    assert found.within[0].verdict == "cannot_tell"
    assert (found.across[0].recipes, found.across[0].better) == (2, 0)
    comparisons = {name: part_comparison(runs) for name, runs in made.results.items()}
    assert list(left_out(comparisons)) == ["default: tied stands in no figure over all parts: the batches differ."]
