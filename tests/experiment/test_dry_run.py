"""What a plan will take: its time from what is known of this machine, its memory and disk as one number each."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support.searches import searching
from tests.support.small_runs import carry_out, carry_out_to, shared_cache, small_experiment, small_run, stop_at
from tiedlm.errors import Interrupted
from tiedlm.experiment.dry_run import forecast, totals, tuning_size
from tiedlm.experiment.plan import plan
from tiedlm.experiment.plan_tuning import plan_tuning
from tiedlm.report.commands.dry_run import render_dry_run
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.result import RunResult
from tiedlm.run.rungs import prune

STEPS = ("training.steps=400", "training.batch_size=8")


def planned(folder: Path, *settings: str) -> list[dict[str, Any]]:
    runs = plan(small_experiment(folder, *settings), folder / "runs")
    return forecast(runs, shared_cache())


def printed(runs: list[dict[str, Any]]) -> str:
    stream = io.StringIO()
    render_dry_run(runs, totals(runs), Console(file=stream, width=80))
    return stream.getvalue()


def with_speed(run: Run, tokens_per_second: float, **effective: str) -> RunResult:
    """A finished run, as if it had been that fast."""
    result = carry_out(run)
    changed = result.model_copy(
        update={
            "steady_tokens": 1_000_000,
            "steady_seconds": 1_000_000 / tokens_per_second,
            "effective": result.effective.model_copy(update=effective),
        }
    )
    RunFolder(run.directory).finish(changed)
    return changed


def test_without_any_finished_run_the_time_is_a_guess_that_says_so(tmp_path: Path) -> None:
    runs = planned(tmp_path, *STEPS)
    assert {run["seconds_basis"] for run in runs} == {"guess"}
    assert all(5 < run["seconds"] < 3600 for run in runs)
    assert ", a guess from a matrix product (within a factor of 3)." in printed(runs)


def test_the_time_follows_the_speed_of_a_finished_run_of_the_same_shape(tmp_path: Path) -> None:
    """400 steps of 8 x 16 tokens at 100 tokens a second, the scoring of a third of the price, and the start."""
    result = with_speed(small_run(tmp_path, *STEPS, "name=before", "training.steps=2"), 100)
    tied, untied = planned(tmp_path, *STEPS)
    assert (tied["seconds_basis"], untied["seconds_basis"]) == ("same_shape", "same_shape"), "equal width, equal FLOPs"
    scored = sum(split.tokens for split in result.splits.values())
    assert tied["seconds"] == pytest.approx(400 * 8 * 16 / 100 + scored / 3 / 100, rel=0.15)
    assert totals([tied, untied])["seconds"] == pytest.approx(tied["seconds"] + untied["seconds"], abs=1)
    assert "min, as finished runs of this shape took here." in printed([tied, untied])
    (larger, _) = planned(tmp_path, *STEPS, "name=wide", "model.dim=64")
    assert larger["seconds_basis"] == "other_shape"
    ratio = larger["flops_per_token"] / tied["flops_per_token"]
    assert larger["seconds"] / tied["seconds"] == pytest.approx(ratio, rel=0.05)


@pytest.mark.parametrize("elsewhere", [{"device_name": "another CPU"}, {"precision": "bf16"}])
def test_runs_of_another_machine_or_precision_say_nothing_of_this_one(
    tmp_path: Path, elsewhere: dict[str, str]
) -> None:
    with_speed(small_run(tmp_path, "name=before"), 100, **elsewhere)
    assert {run["seconds_basis"] for run in planned(tmp_path, *STEPS)} == {"guess"}


def test_a_gpu_that_is_not_here_has_no_time(tmp_path: Path) -> None:
    runs = planned(tmp_path, *STEPS, "training.device=cuda:77")
    assert {(run["seconds"], run["seconds_basis"]) for run in runs} == {(None, None)}
    assert totals(runs)["seconds"] is None
    assert "Time: not known before a run of its kind has finished here." in printed(runs)


def test_what_is_finished_takes_no_time_and_what_is_under_way_its_rest(tmp_path: Path) -> None:
    settings = ("training.steps=40", "training.checkpoint_every=1")
    carry_out(small_run(tmp_path, *settings))
    with pytest.raises(Interrupted):
        carry_out(small_run(tmp_path, *settings, variant="untied"), talk=stop_at(30))
    runs = planned(tmp_path, *settings)
    assert [(run["state"], run["share_left"]) for run in runs] == [("finished", 0.0), ("under way", 0.25)]
    all_of_it = totals(runs)
    assert (all_of_it["to_do"], all_of_it["tokens"]) == (1, 10 * 4 * 16)
    assert all_of_it["seconds"] == round(runs[1]["seconds"] / 4)


def test_memory_is_of_the_largest_run_and_disk_of_all_of_them(tmp_path: Path) -> None:
    runs = planned(tmp_path, "seeds=[0, 1, 2]")
    all_of_it = totals(runs)
    assert all_of_it["predicted_peak_bytes"] == max(run["predicted_peak_bytes"] for run in runs)
    assert all_of_it["disk_bytes"] == sum(run["disk_bytes"] for run in runs)
    largest = max(run["parameters"] for run in runs)
    assert all_of_it["disk_peak_bytes"] - all_of_it["disk_bytes"] == 12 * largest, "one more while it is written"
    lines = printed(runs).splitlines()
    assert [line.split(":")[0] for line in lines if line.startswith(("Time:", "Memory:", "Disk:"))] == [
        "Time",
        "Memory",
        "Disk",
    ], "a line each"
    assert not any(line.startswith(("Time:", "Memory:", "Disk:")) and not line.endswith(".") for line in lines)


def test_a_trial_leaves_nothing_on_disk(tmp_path: Path) -> None:
    runs = planned(tmp_path)
    trials = [run | {"trial_of": "tied", "disk_bytes": 1_000_000, "checkpoint_bytes": 500_000} for run in runs]
    assert totals([*trials, *runs])["disk_bytes"] == totals(runs)["disk_bytes"]
    assert totals([*trials, *runs])["disk_peak_bytes"] == 1_500_000


def test_what_is_not_known_of_one_run_is_not_known_of_all(tmp_path: Path) -> None:
    runs = planned(tmp_path)
    unknown = [
        runs[0]
        | dict.fromkeys(("tokens", "seconds", "seconds_left", "seconds_basis", "disk_bytes", "checkpoint_bytes")),
        runs[1],
    ]
    found = totals(unknown)
    assert {found[key] for key in ("tokens", "seconds", "seconds_basis", "disk_bytes", "disk_peak_bytes")} == {None}


def test_a_search_that_halves_is_told_in_steps_and_what_is_done_of_it_is_taken_off(tmp_path: Path) -> None:
    """6 steps: 4 trials a variant to step 2, 2 on to step 4, 1 to the end. Two have reached step 2, one was pruned."""
    experiment = searching(tmp_path, "halving", "seeds=[0, 1]", trials=4)
    trials, runs = plan_tuning(experiment, tmp_path / "runs"), plan(experiment, tmp_path / "runs")
    search = experiment.search
    assert search is not None
    documents = forecast([*trials, *runs], shared_cache(), waiting=[run.directory for run in runs], search=search)
    size, tokens = tuning_size(search, documents), 4 * 16
    steps = 2 * (4 * 2 + 2 * 2 + 1 * 2)
    assert (size["steps"], size["tokens"], size["whole_runs"]) == (steps, steps * tokens, pytest.approx(steps / 6))
    assert size["share"] == pytest.approx(steps / (steps + 4 * 6), abs=1e-6)
    assert totals(documents)["tokens"] == pytest.approx((steps + 4 * 6) * tokens, rel=1e-6)
    for run in trials[:2]:
        carry_out_to(run, 1 / 3)
    prune(RunFolder(trials[1].directory))
    documents = forecast([*trials, *runs], shared_cache(), waiting=[run.directory for run in runs], search=search)
    assert [run["state"] for run in documents[:3]] == ["under way", "pruned", "to do"]
    assert totals(documents)["tokens"] == pytest.approx((steps - 2 * 2 + 4 * 6) * tokens, rel=1e-6)


def test_the_states_that_wait_at_a_rung_are_counted_on_disk(tmp_path: Path) -> None:
    experiment = searching(tmp_path, "halving", trials=4)
    search, trials = experiment.search, plan_tuning(experiment, tmp_path / "runs")
    documents = forecast(trials, shared_cache(), search=search)
    largest = max(run["disk_bytes"] for run in documents)
    saving = max(run["checkpoint_bytes"] for run in documents)
    assert totals(documents, search)["disk_peak_bytes"] == (2 * 2 + 1) * largest + saving
