"""From budgets in a file to one experiment for each."""

from pathlib import Path

import pytest

from tests.support.experiment_parts import parts_of
from tiedlm.config.base import ConfigError


def test_each_budget_is_the_experiment_with_its_length_times_that_shortest_first(tmp_path: Path) -> None:
    parts = parts_of(tmp_path, "budgets: [3, 1]\n")
    assert [(part.name, part.budget) for part in parts.parts] == [("budget-1", 1), ("budget-3", 3)]
    for part, steps in zip(parts.parts, (6, 18), strict=True):
        assert {config.training.steps for config in part.experiment.variants.values()} == {steps}
        assert part.settings == {"training.steps": steps}
        assert part.experiment.part == part.name


def test_what_is_a_fraction_of_a_run_stays_that_fraction(tmp_path: Path) -> None:
    short, long = parts_of(tmp_path, "budgets: [1, 2]\n", "training.warmup=0.5").parts
    assert short.experiment.variants["tied"].training.warmup == long.experiment.variants["tied"].training.warmup == 0.5


@pytest.mark.parametrize(("length", "stretched"), [("tokens=640", 320), ("epochs=1.5", 0.75)])
def test_tokens_and_epochs_are_stretched_alike(tmp_path: Path, length: str, stretched: float) -> None:
    key = length.partition("=")[0]
    (part,) = parts_of(tmp_path, "budgets: [0.5]\n", "training.steps=null", f"training.{length}").parts
    assert getattr(part.experiment.variants["untied"].training, key) == stretched


def test_variants_of_unequal_length_are_each_stretched(tmp_path: Path) -> None:
    (part,) = parts_of(tmp_path, "budgets: [2]\n", "variants.tied.training.steps=8").parts
    assert part.settings == {"variants.tied.training.steps": 16, "variants.untied.training.steps": 12}


def test_the_tuning_search_is_stretched_with_the_runs(tmp_path: Path) -> None:
    tune = "tune: {grid: {training.learning_rate: [1e-3, 2e-3]}, seeds: [9]}\nbudgets: [2]\n"
    (part,) = parts_of(tmp_path, tune).parts
    assert part.experiment.search is not None
    configs = [each.config for candidates in part.experiment.search.candidates.values() for each in candidates]
    assert {(config.training.steps, config.part) for config in configs} == {(12, "budget-2")}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("budgets: [0.25]\n", r"budgets: 0.25 times training.steps 6 is no whole number of steps"),
        ("budgets: [1e300]\n", r"budgets: 1e\+300 times the length: training.steps: 6"),
        ("budgets: [1, 1]\n", "budgets: 1 stands there more than once"),
        ("budgets: []\n", "budgets: must name at least one length"),
        ("budgets: [0]\n", "budgets.0: 0: must be above 0"),
        ("budgets: [1, 3]\nrecipes: {a: {}}\n", "budgets: give recipes or budgets, not both"),
        ("budgets: [1]\njudging_seeds: [3]\n", "judging_seeds: judge the best of several recipes"),
    ],
)
def test_what_is_wrong_with_budgets_is_said(tmp_path: Path, keys: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parts_of(tmp_path, keys)
