"""What an experiment with recipes says is wrong as seldom as it promises: the simulations of the script, small.

Seeded. Each bound allows three standard errors of the Monte Carlo on its trials.
"""

import importlib
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"
TRIALS = 400


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("bench_recipes")


def margin(share: float) -> float:
    return 3 * math.sqrt(share * (1 - share) / TRIALS)


@pytest.mark.parametrize("has_own_means", [False, True])
@pytest.mark.parametrize(("num_choosing", "num_judging", "apart"), [(2, 3, 1.0), (5, 5, 1.0), (2, 8, 0.5)])
def test_of_variants_that_are_equal_at_their_best_one_is_named_the_winner_in_at_most_one_case_in_twenty(
    bench: ModuleType, num_choosing: int, num_judging: int, apart: float, has_own_means: bool
) -> None:
    arms = bench.Arms(num_choosing, num_judging, apart, has_own_means=has_own_means)
    assert bench.winners(arms, TRIALS, np.random.default_rng(0)).named <= 0.05 + margin(0.05)


def test_without_the_error_of_the_choice_the_luck_of_a_recipe_would_be_taken_for_the_variant(bench: ModuleType) -> None:
    found = bench.winners(bench.Arms(2, 8, 1.0), TRIALS, np.random.default_rng(1))
    assert found.plain > 0.05 + margin(0.05)
    assert found.named < found.plain / 2


def test_a_variant_that_is_better_by_far_is_found(bench: ModuleType) -> None:
    assert bench.winners(bench.Arms(5, 5, 1.0, effect=3.0), 100, np.random.default_rng(2)).named > 0.7


@pytest.mark.parametrize(("num_recipes", "num_seeds"), [(3, 3), (6, 2), (6, 5)])
@pytest.mark.parametrize("tau", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("alike", [0.0, 0.5])
def test_the_intervals_across_recipes_hold_what_they_promise(
    bench: ModuleType, num_recipes: int, num_seeds: int, tau: float, alike: float
) -> None:
    held = bench.coverage(bench.Spread(num_recipes, num_seeds, tau, alike), TRIALS, np.random.default_rng(3))
    assert held.mean >= 0.95 - margin(0.95)
    assert held.next >= 0.95 - margin(0.95)
    assert held.true >= 0.95 - margin(0.95)


def test_the_usual_prediction_intervals_hold_the_next_recipe_too_seldom(bench: ModuleType) -> None:
    held = bench.coverage(bench.Spread(6, 5, 0.5), TRIALS, np.random.default_rng(4))
    assert max(held.higgins, held.inthout) < 0.95 - margin(0.95)


def test_a_turn_of_the_sign_is_named_seldom_where_the_other_recipes_are_nothing_but_noise(bench: ModuleType) -> None:
    named, plain = bench.turns(6, 5, TRIALS, np.random.default_rng(5))
    assert named <= 0.05 + margin(0.05)
    assert plain > 0.05 + margin(0.05)


def test_the_tables_have_a_line_for_every_cell(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "KINDS", bench.KINDS[:1])
    monkeypatch.setattr(bench, "APART", [1.0])
    bench.main(["--trials", "4"])
    said = capsys.readouterr().out
    tables = [table.splitlines() for table in said.strip().split("\n\n")]
    assert [len(table) for table in tables] == [1, 1 + 4, 1 + 90, 1 + 8]
    assert all(len({len(line) for line in table}) == 1 for table in tables[1:])
    assert max(map(len, said.splitlines())) <= 80
