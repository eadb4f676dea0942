"""Tuning carried out: trials that never read the test split, runs with what they chose, nothing done twice."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from cli.main import main
from tests.support.in_process import in_this_process
from tests.support.small_runs import Heard, carry_out, checkpoints, metrics, shared_cache, small_config
from tiedlm.comparison.compare import compare
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.gather import gather
from tiedlm.config.base import ConfigError
from tiedlm.data.prepare import prepare
from tiedlm.errors import Interrupted, RunError
from tiedlm.experiment.carry_out import train, unfinished_runs
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.expand import expand
from tiedlm.experiment.plan import pick, plan
from tiedlm.experiment.plan_tuning import plan_tuning
from tiedlm.experiment.reading import load_experiment
from tiedlm.experiment.tune import tune
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.setup import open_run

RATES = "tune={grid: {training.learning_rate: [1e-3, 1e-2]}, seeds: [100]}"


def experiment_in(folder: Path, *settings: str) -> Experiment:
    return load_experiment(small_config(folder), [RATES, *settings])


def compare_in(folder: Path, experiment: Experiment, talk: Heard | None = None) -> Comparison:
    return compare(experiment, runs_dir=folder / "runs", cache_dir=shared_cache(), talk=talk or Heard())


def stamps(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in (folder / "runs").rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Experiment, Comparison, Heard]:
    """The last trial in a process of its own, the other trials and the runs in this one."""
    folder = tmp_path_factory.mktemp("tuned")
    experiment = experiment_in(folder)
    runs, cache = folder / "runs", shared_cache()
    *trials, last = plan_tuning(experiment, runs)
    for run in trials:
        carry_out(run)
    assert expand(experiment, runs, cache) == experiment, "nothing is chosen before all have ended"
    with pytest.raises(ConfigError, match="not chosen yet"):
        train(experiment, Run(pick(experiment, "tied"), runs), cache_dir=cache)
    assert [run.label for run in unfinished_runs(plan_tuning(experiment, runs))] == [last.label]
    heard = Heard()
    for run in plan(tune(experiment, runs_dir=runs, cache_dir=cache, talk=heard), runs):
        carry_out(run)
    return folder, experiment, compare_in(folder, experiment), heard


def test_a_trial_is_scored_on_validation_alone_and_keeps_no_weights(
    compared: tuple[Path, Experiment, Comparison, Heard],
) -> None:
    folder, experiment, _, _ = compared
    for run in plan_tuning(experiment, folder / "runs"):
        result = RunFolder(run.directory).result()
        assert result is not None
        assert list(result.splits) == ["validation"]
        assert not RunFolder(run.directory).evaluation_file("test").exists()
        assert checkpoints(run) == []
        assert len([line for line in metrics(run) if "loss" in line]) == 6


def test_a_trial_does_not_read_the_test_split(tmp_path: Path) -> None:
    """With tokens there that no model has, a run fails, and a trial comes out as it did before."""
    experiment = experiment_in(tmp_path)
    trial, cache = plan_tuning(experiment, tmp_path / "runs")[0], tmp_path / "cache"
    carry_out(trial, cache=cache)
    data = prepare(trial.config.data, cache)
    (file,) = cache.rglob("test.ids")
    kept, stamp = data.split("test").ids, file.stat().st_mtime_ns
    np.full(len(kept), np.iinfo(kept.dtype).max, kept.dtype).tofile(file)
    os.utime(file, ns=(stamp, stamp))  # else it would be noticed, and made anew
    again = plan_tuning(experiment, tmp_path / "again")[0]
    carry_out(again, cache=cache)
    before, after = (RunFolder(run.directory).result() for run in (trial, again))
    assert before is not None and after is not None
    assert (before.splits, before.hashes) == (after.splits, after.hashes)
    run = Run(pick(experiment, "tied"), tmp_path / "runs")
    with pytest.raises(IndexError):
        carry_out(run, cache=cache)


def test_each_variant_is_run_with_what_cost_least_on_validation(
    compared: tuple[Path, Experiment, Comparison, Heard],
) -> None:
    folder, experiment, comparison, heard = compared
    assert comparison.tuning is not None
    it = expand(experiment, folder / "runs", shared_cache())
    for variant in ("tied", "untied"):
        costs = {}
        for run in plan_tuning(experiment, folder / "runs"):
            result = RunFolder(run.directory).result()
            if result is not None and run.config.tuning_of == variant:
                costs[run.config.training.learning_rate] = result.splits["validation"].nll
        best = min(costs, key=lambda rate: costs[rate])
        assert it.variants[variant].training.learning_rate == best
        tuned = comparison.tuning.of(variant)
        assert tuned is not None and tuned.settings == {"training.learning_rate": best}
        assert [score.nll for trial in tuned.trials for score in trial.per_seed] == list(costs.values())
        assert any(line.startswith(f"{variant}: learning_rate={best}, the best of 2") for line in heard.lines)
    for run in plan(it, folder / "runs"):
        assert RunFolder(run.directory).config() == run.config
    assert [variant.name for variant in comparison.variants] == ["tied", "untied"]
    assert all(variant.seeds == [0] for variant in comparison.variants)


def test_a_second_call_does_nothing_and_gathering_keeps_the_tuning(
    compared: tuple[Path, Experiment, Comparison, Heard],
) -> None:
    folder, experiment, comparison, _ = compared
    before, heard = stamps(folder), Heard()
    assert compare_in(folder, experiment, heard) == comparison
    assert (stamps(folder), heard.lines) == (before, [])
    gathered = gather([folder / "runs" / "small"])
    assert gathered.tuning == comparison.tuning
    assert gathered.variants == comparison.variants
    compare_in(folder, experiment)


def test_trials_are_not_compared_as_runs(compared: tuple[Path, Experiment, Comparison, Heard]) -> None:
    trials = compared[0] / "runs" / "small" / "tuning"
    with pytest.raises(ConfigError, match="trials are no runs"):
        gather([trials / "tied"])
    with pytest.raises(ConfigError, match="no run is there"):
        gather([trials])
    with pytest.raises(RunError, match="a trial keeps none"):
        open_run(trials / "tied" / "learning_rate=0.01" / "seed-100", shared_cache())


def test_a_larger_grid_reuses_the_trials_there_are_and_its_runs_wait(
    compared: tuple[Path, Experiment, Comparison, Heard],
) -> None:
    folder, _, _, _ = compared
    larger = experiment_in(folder, "tune.grid.training.learning_rate=[1e-2, 2e-2, 1e-3]")
    lacking = unfinished_runs(plan_tuning(larger, folder / "runs"))
    assert [run.label for run in lacking] == ["tied learning_rate=0.02 seed 100", "untied learning_rate=0.02 seed 100"]
    assert expand(larger, folder / "runs", shared_cache()).waits_for_tuning


def test_trials_of_another_recipe_are_refused_before_anything_trains(
    compared: tuple[Path, Experiment, Comparison, Heard],
) -> None:
    folder, _, _, _ = compared
    before, other = stamps(folder), experiment_in(folder, "training.batch_size=8")
    with pytest.raises(ConfigError, match="--fresh") as error:
        compare_in(folder, other)
    assert error.value.problems[0].key == "training.batch_size"
    assert stamps(folder) == before
    assert expand(other, folder / "runs", shared_cache()).waits_for_tuning


def test_a_dry_run_shows_the_trials_and_which_runs_wait_for_them(
    compared: tuple[Path, Experiment, Comparison, Heard], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, experiment, _, _ = compared
    before = stamps(folder)
    places = ["--runs-dir", str(folder / "runs"), "--cache-dir", str(shared_cache())]
    command = ["compare", str(small_config(folder)), "--dry-run", *places, "--set", RATES]
    assert main([*command, "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    trials = plan_tuning(experiment, folder / "runs")
    assert [(run["trial_of"], run["label"]) for run in runs[:4]] == [
        (run.config.tuning_of, run.label) for run in trials
    ]
    assert [(run["trial_of"], run["variant"], run["state"]) for run in runs[4:]] == [
        (None, "tied", "finished"),
        (None, "untied", "finished"),
    ]
    larger = ["--set", "tune.grid.training.learning_rate=[1e-2, 2e-2, 1e-3]"]
    assert main([*command, *larger]) == 0
    shown = capsys.readouterr().out
    states = {line.split("seed")[0].strip(): line.split()[1:] for line in shown.splitlines() if "seed" in line}
    assert states["learning_rate=0.01,"][-2:] == ["finished", "finished"]
    assert shown.count("to do") == 2 and shown.count("waits") == 2
    assert "8 runs, 4 of them not finished." in shown
    told = " ".join(shown.split())
    assert "6 of them are trials (3 settings x 2 variants x 1 seed) of 36 steps and 2,304 tokens in all" in told
    assert (
        main(["train", "--config", str(small_config(folder)), "--variant", "tied", *places, "--set", RATES, *larger])
        == 2
    )
    assert "not chosen yet" in capsys.readouterr().err
    assert stamps(folder) == before


def test_a_file_alone_is_tuned_too_and_all_diverged_is_an_error(tmp_path: Path) -> None:
    path = small_config(tmp_path, "variants:\n  tied: {model: {tying: {type: tied}}}\n", "")
    path.write_text(path.read_text().replace("  untied: {model: {tying: {type: untied}}}\n", ""))
    settings = ["training.max_grad_norm=null", "tune={grid: {training.learning_rate: [1e20]}, seeds: [100]}"]
    experiment = load_experiment(path, settings)
    assert list(experiment.variants) == ["tied"]
    (trial,) = plan_tuning(experiment, tmp_path / "runs")
    with pytest.raises(RunError) as diverged:
        carry_out(trial)
    assert diverged.value.kind == "diverged"
    with pytest.raises(RunError, match="tied: every one of its 1 trials diverged"):
        tune(experiment, runs_dir=tmp_path / "runs", cache_dir=shared_cache())


@pytest.fixture
def talk_of_runs() -> Iterator[Heard]:
    """What the runs of a test say, all of them in this process."""
    heard = Heard()
    with in_this_process(heard):
        yield heard


def test_an_interrupted_tuning_goes_on_where_it_was_and_a_fresh_one_starts_again(
    tmp_path: Path, talk_of_runs: Heard
) -> None:
    experiment = experiment_in(tmp_path)
    trials = plan_tuning(experiment, tmp_path / "runs")
    steps_done: list[int] = []

    def stop_in_the_third(step: int) -> None:
        steps_done.append(step)
        if len(steps_done) == 15:
            os.kill(os.getpid(), signal.SIGTERM)

    talk_of_runs.at_step = stop_in_the_third
    with pytest.raises(Interrupted):
        tune(experiment, runs_dir=tmp_path / "runs", cache_dir=shared_cache())
    assert [run.label for run in unfinished_runs(trials)] == [run.label for run in trials[2:]]
    first = tune(experiment, runs_dir=tmp_path / "runs", cache_dir=shared_cache())
    assert len(steps_done) == 4 * 6, "no step was taken twice"
    assert tune(experiment, runs_dir=tmp_path / "runs", cache_dir=shared_cache()) == first
    assert len(steps_done) == 4 * 6, "nothing was left to do"
    again = tune(experiment, runs_dir=tmp_path / "runs", cache_dir=shared_cache(), fresh=True)
    assert len(steps_done) == 8 * 6
    assert again == first, "the same trials come to the same on a CPU"


@pytest.mark.usefixtures("talk_of_runs")
def test_a_grown_grid_with_another_winner_names_the_runs_that_stand_in_the_way(tmp_path: Path) -> None:
    small = experiment_in(tmp_path, "tune.grid.training.learning_rate=[1e-4]")
    compare_in(tmp_path, small)
    grown = experiment_in(tmp_path, "tune.grid.training.learning_rate=[1e-4, 1e-2]")
    with pytest.raises(ConfigError, match=r"was made with 0\.0001, now it is 0\.01"):
        compare_in(tmp_path, grown)
    it = compare_in(tmp_path, small)
    assert it.tuning is not None and len(it.tuning.variants[0].trials) == 1, "the smaller question still has its answer"
