"""The training loss of finished runs, from the journals in their folders."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.finished_runs import run_result, summarize
from tiedlm.comparison.analyses import training_loss
from tiedlm.comparison.analyses.training_loss import TrainingLoss
from tiedlm.run.result import RunResult


def journal(folder: Path, losses: Sequence[float]) -> None:
    """A line for each step, and one of a validation among them."""
    lines: list[dict[str, float]] = [{"step": step, "loss": loss} for step, loss in enumerate(losses, start=1)]
    lines.insert(1, {"step": 1, "tokens": 8, "seconds": 0.1, "validation_nll": 5.0, "validation_tokens": 2})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def measured(folder: Path, *results: RunResult) -> TrainingLoss:
    def metrics_of(run: RunResult) -> Path:
        return folder / run.variant / f"seed-{run.seed}" / "metrics.jsonl"

    found = summarize(results, [], "example", "untied", ["tied"], metrics_of=metrics_of).analysis(TrainingLoss)
    assert found is not None
    return found


def test_few_steps_are_points_of_their_own(tmp_path: Path) -> None:
    journal(tmp_path / "tied" / "seed-0", [6.0, 5.0, 4.5])
    (found,) = measured(tmp_path, run_result(steps=3, tokens_seen=24)).variants
    assert (found.variant, found.steps_per_point) == ("tied", 1)
    assert (found.steps, found.tokens) == ([1, 2, 3], [8, 16, 24])
    assert [(seed.seed, seed.losses) for seed in found.per_seed] == [(0, [6.0, 5.0, 4.5])]


def test_many_steps_are_means_and_the_last_point_is_of_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_loss, "MAX_POINTS", 3)
    journal(tmp_path / "tied" / "seed-0", [6.0, 5.0, 4.0, 5.0, 3.0, 4.0, 2.5])
    (found,) = measured(tmp_path, run_result(steps=7, tokens_seen=70)).variants
    assert found.steps_per_point == 3
    assert (found.steps, found.tokens) == ([3, 6, 7], [30, 60, 70])
    assert found.per_seed[0].losses == [5.0, 4.0, 2.5]


@pytest.mark.parametrize("num_steps", [1, 59, 60, 61, 450, 3_052, 100_001])
def test_a_curve_is_no_longer_than_that(tmp_path: Path, num_steps: int) -> None:
    (found,) = measured(tmp_path, run_result(steps=num_steps)).variants
    assert len(found.steps) <= training_loss.MAX_POINTS
    assert found.steps[-1] == num_steps


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "its metrics.jsonl holds 0 of 2 steps"),
        ('{"step": 1, "loss": 6.0}\n', "its metrics.jsonl holds 1 of 2 steps"),
        ('{"step": 1, "loss": 6.0}\n{"step": 2, "lo', "its metrics.jsonl cannot be read (JSONDecodeError)"),
        ('{"step": 1, "loss": null}\n', "its metrics.jsonl cannot be read (TypeError)"),
        ('{"loss": 6.0}\n', "its metrics.jsonl cannot be read (KeyError)"),
        ("[]\n7\n", "its metrics.jsonl cannot be read (TypeError)"),
    ],
)
def test_a_run_whose_journal_is_lost_has_no_curve_and_the_others_keep_theirs(
    tmp_path: Path, text: str | None, reason: str
) -> None:
    journal(tmp_path / "tied" / "seed-0", [6.0, 5.0])
    if text is not None:
        journal(tmp_path / "tied" / "seed-1", [])
        (tmp_path / "tied" / "seed-1" / "metrics.jsonl").write_text(text)
    (found,) = measured(tmp_path, *(run_result(seed=seed, steps=2, tokens_seen=16) for seed in (0, 1))).variants
    kept, lost = found.per_seed
    assert (kept.losses, kept.reason) == ([6.0, 5.0], None)
    assert (lost.losses, lost.reason) == ([], reason)


def test_there_is_nothing_where_no_folder_is_known() -> None:
    assert summarize([run_result()], [], "example", "untied", ["tied"]).analysis(TrainingLoss) is None
