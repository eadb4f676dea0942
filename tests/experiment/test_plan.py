"""From an experiment to its runs."""

from pathlib import Path

import pytest

from tests.support.small_runs import small_config, small_experiment
from tiedlm.config.base import ConfigError
from tiedlm.experiment.plan import pick, plan
from tiedlm.experiment.reading import load_experiment
from tiedlm.run.layout import Run


def test_seeds_are_the_outer_loop_so_that_a_broken_night_leaves_pairs(tmp_path: Path) -> None:
    runs = plan(small_experiment(tmp_path, "seeds=[3, 1]"), Path("runs"))
    order = [(run.config.variant, run.config.seed) for run in runs]
    assert order == [("tied", 3), ("untied", 3), ("tied", 1), ("untied", 1)]


def test_each_run_has_a_folder_of_its_own(tmp_path: Path) -> None:
    runs = plan(small_experiment(tmp_path, "seeds=[0, 10]"), Path("runs"))
    assert [run.directory for run in runs] == [
        Path("runs/small") / variant / f"seed-{seed}" for seed in (0, 10) for variant in ("tied", "untied")
    ]
    assert runs[3].label == "untied seed 10"


def test_variants_differ_in_what_they_say_and_seeds_in_the_seed_alone(tmp_path: Path) -> None:
    tied, untied, other_seed, _ = (run.config for run in plan(small_experiment(tmp_path, "seeds=[0, 1]"), Path("r")))
    assert tied.model.model_copy(update={"tying": untied.model.tying}) == untied.model
    assert (tied.data, tied.training) == (untied.data, untied.training)
    assert (tied.model.tying.type, untied.model.tying.type) == ("tied", "untied")
    assert other_seed.model_copy(update={"seed": 0}) == tied


def test_planning_is_pure(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path, "seeds=[0, 1]")
    before = sorted(tmp_path.rglob("*"))
    first, second = plan(experiment, tmp_path / "runs"), plan(experiment, tmp_path / "runs")
    assert first == second
    assert sorted(tmp_path.rglob("*")) == before, "nothing is written"


def test_more_seeds_and_variants_leave_the_runs_there_were(tmp_path: Path) -> None:
    few = plan(small_experiment(tmp_path, "seeds=[1]"), Path("runs"))
    path = small_config(tmp_path, "variants:\n", "variants:\n  first: {model: {dropout: 0.1}}\n")
    more = plan(load_experiment(path, ["seeds=[0, 1, 2]"]), Path("runs"))
    assert all(run in more for run in few)


def test_one_run_is_picked_by_its_variant_and_by_the_first_seed_or_any(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path, "seeds=[4, 5]")
    assert pick(experiment, "untied") == experiment.run_config("untied", 4)
    assert pick(experiment, "tied", 77).seed == 77
    assert Run(pick(experiment, "tied", 5), Path("r")).directory == Path("r/small/tied/seed-5")
    assert pick(experiment, "tied", 5) == experiment.run_config("tied", 5)


def test_where_there_is_one_variant_none_need_be_named(tmp_path: Path) -> None:
    only = load_experiment(small_config(tmp_path, "  untied: {model: {tying: {type: untied}}}\n", ""))
    assert pick(only).variant == "tied"


@pytest.mark.parametrize("variant", [None, "soft", "Tied"])
def test_a_variant_that_is_not_there_or_not_named_lists_those_that_are(tmp_path: Path, variant: str | None) -> None:
    with pytest.raises(ConfigError, match="tied, untied") as error:
        pick(small_experiment(tmp_path), variant)
    assert error.value.problems[0].key == "--variant"
