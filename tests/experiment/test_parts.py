"""An experiment with parts and its runs."""

from pathlib import Path

import pytest

from tests.support.experiment_parts import RECIPES, parts_of
from tests.support.small_runs import carry_out, small_config, small_run
from tiedlm.config.base import ConfigError
from tiedlm.experiment.carry_out import unfinished_runs
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.count_params import count_configs
from tiedlm.experiment.parts import load_part, load_plan, plan_judging, plan_parts, split_seeds
from tiedlm.experiment.what_to_do import what_to_do
from tiedlm.run.find import holds_runs, newest_experiment
from tiedlm.run.folder import part_folders
from tiedlm.run.progress_writer import find_earlier

CACHE = Path("never/read")


def test_seeds_are_the_outer_loop_then_recipes_so_that_what_is_there_can_be_compared(tmp_path: Path) -> None:
    runs = plan_parts(parts_of(tmp_path), Path("runs"))
    order = [(run.config.seed, run.config.part, run.config.variant) for run in runs]
    recipes = [(part, variant) for part in ("default", "high", "scaled") for variant in ("tied", "untied")]
    assert order == [(seed, *recipe) for seed in (0, 1) for recipe in recipes]


def test_each_recipe_has_a_folder_between_those_of_the_experiment_and_of_its_variants(tmp_path: Path) -> None:
    run = plan_parts(parts_of(tmp_path), Path("runs"))[2]
    assert run.directory == Path("runs/small/high/tied/seed-0")
    assert run.label == "high tied seed 0"
    assert run.micro_batch_file == Path("runs/small/micro_batch.json"), "agreed once for all recipes"


def test_the_first_half_of_the_seeds_chooses_and_the_others_judge(tmp_path: Path) -> None:
    parts = parts_of(tmp_path, RECIPES, "seeds=[4, 5, 6]")
    assert (parts.choosing_seeds, parts.judging_seeds) == ((4,), (5, 6))
    assert not parts.has_runs_to_judge, "they are among the runs"
    assert split_seeds([5, 6, 7, 8, 9]) == ((5, 6), (7, 8, 9))
    assert split_seeds([1]) == ((1,), ())


def test_seeds_that_judge_may_be_named_and_are_run_for_the_best_recipes_alone(tmp_path: Path) -> None:
    parts = parts_of(tmp_path, RECIPES, "judging_seeds=[7, 8]")
    assert (parts.choosing_seeds, parts.judging_seeds) == ((0, 1), (7, 8))
    runs = plan_judging(parts, {"tied": "high", "untied": "default"}, Path("runs"))
    assert [run.label for run in runs] == [
        f"{name} seed {seed}" for seed in (7, 8) for name in ("high tied", "default untied")
    ]


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        ("[1]", "judging_seeds: 1 is one of seeds too: who chooses must not judge"),
        ("[3, 3]", "judging_seeds: a seed stands there more than once"),
        ("[]", "judging_seeds: must name at least one seed"),
    ],
)
def test_a_seed_that_chooses_does_not_judge(tmp_path: Path, seeds: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parts_of(tmp_path, RECIPES, f"judging_seeds={seeds}")


def test_one_part_is_named_for_a_single_run(tmp_path: Path) -> None:
    path = small_config(tmp_path)
    parts_of(tmp_path)
    assert load_part(path, name="high").part == "high"
    with pytest.raises(ConfigError, match="--part: name one of default, high, scaled"):
        load_part(path)
    with pytest.raises(ConfigError, match="--part: 'low' is not one of default, high, scaled"):
        load_part(path, name="low")
    with pytest.raises(ConfigError, match="--part: 'high': this config has neither recipes nor budgets"):
        load_part(path, ["recipes=null"], "high")


def test_without_its_parts_a_file_is_an_experiment(tmp_path: Path) -> None:
    parts_of(tmp_path)
    assert isinstance(load_plan(tmp_path / "small.yaml", ["recipes=null"]), Experiment)


def test_a_file_does_not_name_the_part_itself(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="part: is set by the plan"):
        parts_of(tmp_path, RECIPES + "part: high\n")


def test_what_a_plan_will_take_has_the_runs_that_judge_though_they_wait_for_a_choice(tmp_path: Path) -> None:
    planned = what_to_do(parts_of(tmp_path, RECIPES, "judging_seeds=[7]"), tmp_path / "runs", CACHE)
    waiting = [run.label for run in planned.runs if run.directory in planned.waiting]
    assert len(planned.runs) == 14
    assert waiting == ["default tied seed 7", "default untied seed 7"]


def test_runs_of_parts_are_found_by_what_their_configs_say(tmp_path: Path) -> None:
    runs_dir = tmp_path / "runs"
    runs = plan_parts(parts_of(tmp_path, RECIPES, "training.steps=1"), runs_dir)[:3]
    for run in runs:
        carry_out(run)
    assert holds_runs(runs_dir / "small")
    assert newest_experiment(runs_dir) == runs_dir / "small"
    found = part_folders(runs_dir / "small")
    assert {part: [folder.path for folder in folders] for part, folders in found.items()} == {
        "default": [run.directory for run in runs[:2]],
        "high": [runs[2].directory],
    }
    assert unfinished_runs(runs) == []
    assert part_folders(runs_dir) == {}, "a folder of experiments has none"


def test_the_earlier_curve_that_a_run_is_held_against_is_of_its_own_recipe(tmp_path: Path) -> None:
    runs = plan_parts(parts_of(tmp_path, RECIPES, "training.evaluate_every=2"), tmp_path / "runs")
    carry_out(runs[0])
    same_recipe, other_recipe = runs[1], runs[3]
    assert (earlier := find_earlier(same_recipe, runs[:1])) is not None and earlier.variant == "tied"
    assert find_earlier(other_recipe, runs[:1]) is None


def test_a_plain_run_belongs_to_no_part(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.steps=1")
    carry_out(run)
    assert part_folders(run.layout.experiment_dir) == {}


def test_a_recipe_that_changes_the_size_of_a_model_is_counted_too(tmp_path: Path) -> None:
    parts_of(tmp_path, RECIPES)
    deeper = ["recipes.deep.model.num_layers=2"]
    counted = count_configs([tmp_path / "small.yaml"], deeper, tmp_path)
    assert [model.name for model in counted] == ["tied", "untied", "deep tied", "deep untied"]
    assert counted[2].counts.parts["body"] == 2 * counted[0].counts.parts["body"]
