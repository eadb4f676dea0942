"""Carrying out an experiment with parts, for real, and joining what its parts say."""

import json
from pathlib import Path

import pytest

from cli.main import main
from tests.support.experiment_parts import RECIPES, parts_of
from tests.support.in_process import in_this_process
from tests.support.small_runs import Heard, shared_cache
from tiedlm.comparison.comparison import load_comparison
from tiedlm.comparison.parts.compare import compare_finished_parts, compare_parts
from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.comparison.parts.stored import load_parts_comparison
from tiedlm.config.base import ConfigError
from tiedlm.experiment.parts import Parts
from tiedlm.run.folder import part_folders

TWO_RECIPES = RECIPES.partition("  scaled")[0]
SHORT = "training.steps=2"
JUDGES = "judging_seeds=[2, 3]"


def compared(parts: Parts, folder: Path, talk: Heard) -> PartsComparison:
    with in_this_process():
        return compare_parts(parts, runs_dir=folder / "runs", cache_dir=shared_cache(), talk=talk)


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Parts, PartsComparison, Heard]:
    """Two recipes, two seeds that choose and two that judge."""
    folder, talk = tmp_path_factory.mktemp("parts"), Heard()
    parts = parts_of(folder, TWO_RECIPES, SHORT, JUDGES)
    return folder, parts, compared(parts, folder, talk), talk


Carried = tuple[Path, Parts, PartsComparison, Heard]


def test_every_recipe_is_compared_and_the_best_of_each_variant_judged_by_seeds_that_chose_nothing(
    experiment: Carried,
) -> None:
    folder, _, found, talk = experiment
    assert found.recipes is not None and not found.pending and not found.failures
    assert [(each.recipe, each.num_seeds) for each in found.recipes.within] == [("default", 2), ("high", 2)]
    (best,) = found.recipes.best_against_best
    assert (best.chosen_by, best.judged_by, best.num_seeds) == ([0, 1], [2, 3], 2)
    judging = [
        run.path
        for runs in part_folders(folder / "runs/small").values()
        for run in runs
        if run.path.name in ("seed-2", "seed-3")
    ]
    assert {path.parent.parent.name for path in judging} == {best.recipe, best.baseline_recipe}
    assert len(judging) == 4, "the other recipe of a variant is not judged"
    assert "the best recipe of each variant is chosen: 4 runs judge them" in talk.lines


def test_the_best_recipe_is_that_of_the_lowest_validation_loss_of_the_choosing_seeds(experiment: Carried) -> None:
    _, _, found, _ = experiment
    assert found.recipes is not None
    (best,) = found.recipes.best_against_best
    for variant, chosen in (("tied", best.recipe), ("untied", best.baseline_recipe)):
        losses = {}
        for part in found.parts:
            assert part.comparison is not None
            summary = next(each for each in part.comparison.variants if each.name == variant)
            validation = summary.splits["validation"]
            losses[part.part] = validation.nll / validation.tokens
        assert chosen == min(losses, key=lambda recipe: losses[recipe])


def test_a_recipe_has_a_comparison_of_its_own_without_the_runs_that_only_judge(experiment: Carried) -> None:
    folder, _, found, _ = experiment
    for part in found.parts:
        assert load_comparison(folder / "runs/small" / part.part) == part.comparison
        assert part.comparison is not None and part.comparison.variants[0].seeds == [0, 1]


def test_again_nothing_is_trained_and_the_same_is_said(experiment: Carried) -> None:
    folder, parts, found, _ = experiment
    talk = Heard()
    assert compared(parts, folder, talk) == found == load_parts_comparison(folder / "runs/small")
    assert talk.lines == []


def test_finished_runs_are_compared_without_training(experiment: Carried, tmp_path: Path) -> None:
    folder, parts, found, _ = experiment
    places = {"runs_dir": folder / "runs", "cache_dir": shared_cache()}
    assert compare_finished_parts(parts, **places) == found
    with pytest.raises(ConfigError, match="no run of this experiment is finished yet"):
        compare_finished_parts(parts, runs_dir=tmp_path, cache_dir=shared_cache())


def test_a_recipe_that_changed_is_no_longer_the_run_on_disk(experiment: Carried) -> None:
    folder, _, _, _ = experiment
    changed = parts_of(folder, TWO_RECIPES, SHORT, JUDGES, "recipes.high.training.learning_rate=5e-3")
    with pytest.raises(ConfigError, match=r"training.learning_rate: .*high/tied/seed-0 was made with 0.004"):
        compared(changed, folder, Heard())


def test_a_recipe_may_be_added_and_takes_only_its_own_runs(experiment: Carried, tmp_path: Path) -> None:
    parts = parts_of(tmp_path, TWO_RECIPES, SHORT)
    compared(parts, tmp_path, Heard())
    more = parts_of(tmp_path, RECIPES, SHORT)
    talk = Heard()
    found = compared(more, tmp_path, talk)
    assert [part.part for part in found.parts] == ["default", "high", "scaled"]
    assert len([line for line in talk.lines if "test perplexity" in line]) == 4


def test_budgets_are_compared_and_their_trend_is_measured(tmp_path: Path) -> None:
    parts = parts_of(tmp_path, "seeds: [0, 1]\nbudgets: [1, 2]\n", SHORT)
    found = compared(parts, tmp_path, Heard())
    assert found.budgets is not None and found.recipes is None
    (trend,) = found.budgets.trends
    assert [(at.part, at.budget, at.tokens_seen) for at in trend.at] == [("budget-1", 1, 128), ("budget-2", 2, 256)]
    first, second = (at.mean for at in trend.at)
    assert first is not None and second is not None
    assert trend.per_doubling == pytest.approx(second - first)


def test_the_command_line_carries_it_out_and_prints_one_document(
    experiment: Carried, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _, found, _ = experiment
    parts_of(folder, TWO_RECIPES, SHORT, JUDGES)  # writes the file anew
    command = [
        "compare",
        str(folder / "small.yaml"),
        "--set",
        SHORT,
        "--set",
        JUDGES,
        "--runs-dir",
        str(folder / "runs"),
    ]
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found.model_dump(mode="json")
