"""Where runs lie: tuning runs apart from the others, and every folder leads back to its experiment."""

from pathlib import Path

from tests.support.small_runs import small_run
from tiedlm.run.added import Added
from tiedlm.run.layout import Layout, Run, run_of_checkpoint


def test_a_run_lies_by_experiment_variant_and_seed_and_its_folder_leads_back(tmp_path: Path) -> None:
    run = small_run(tmp_path, seed=7)
    assert run.directory == tmp_path / "runs" / "small" / "tied" / "seed-7"
    assert Layout.around(run.directory) == run.layout == Layout(tmp_path / "runs" / "small")


def test_a_tuning_run_lies_apart_and_is_none_of_the_runs(tmp_path: Path) -> None:
    run = small_run(tmp_path, seed=7)
    changes = {"variant": "learning_rate=0.1", "added": Added(role="trial", of="tied")}
    tuning_run = Run(run.config.model_copy(update=changes), run.runs_dir)
    assert tuning_run.directory == tmp_path / "runs" / "small" / "tuning" / "tied" / "learning_rate=0.1" / "seed-7"
    assert tuning_run.layout == run.layout, "they share what belongs to the experiment"
    for each in (run, tuning_run):
        each.directory.mkdir(parents=True)
    assert run.layout.run_dirs() == [run.directory]


def test_the_folders_of_runs_are_in_the_order_of_variants_and_of_seeds_as_numbers(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    folders = [layout.run_dir("tied", 9), layout.run_dir("tied", 10), layout.run_dir("untied", 2)]
    for folder in reversed(folders):
        folder.mkdir(parents=True)
    (tmp_path / "notes.txt").touch()
    (tmp_path / "tied" / "notes").mkdir()
    assert layout.run_dirs() == folders
    renamed = tmp_path / "tied" / "the first"
    renamed.mkdir()
    (renamed / "config.yaml").touch()
    assert layout.run_dirs() == [renamed, *folders]
    assert Layout(tmp_path / "nothing").run_dirs() == []


def test_a_checkpoint_leads_back_to_its_run_and_nothing_else_does(tmp_path: Path) -> None:
    run = tmp_path / "runs" / "small" / "tied" / "seed-7"
    assert run_of_checkpoint(run / "checkpoint" / "step-450") == (run, 450)
    for other in (run, run / "checkpoint", run / "checkpoint" / "step-x", run / "step-450"):
        assert run_of_checkpoint(other) is None
