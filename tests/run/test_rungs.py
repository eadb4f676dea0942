"""Rungs: a run that pauses to be scored, and goes on as if it had not; one that is pruned keeps its score alone."""

import os
import signal
from pathlib import Path

import pytest

from tests.support.small_runs import (
    Heard,
    assert_same_outcome,
    carry_out,
    carry_out_to,
    checkpoints,
    metrics,
    small_run,
)
from tiedlm.config.base import ConfigError
from tiedlm.errors import Interrupted, RunError
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.rung import RungRecord, RungScore, rung_step
from tiedlm.run.rungs import prune, read_rungs


def record_of(run: Run) -> RungRecord:
    record = read_rungs(RunFolder(run.directory))
    assert record is not None
    return record


def score_at(step: int, nll: float = 1) -> RungScore:
    return RungScore(step=step, share=step / 10, nll=nll, tokens=1)


@pytest.mark.parametrize(
    ("share", "num_steps", "step"), [(0.6, 150, 90), (0.2 * 3, 150, 90), (1 / 9, 9, 1), (0.1, 15, 2), (0.001, 10, 1)]
)
def test_a_rung_is_the_first_step_with_so_much_done(share: float, num_steps: int, step: int) -> None:
    assert rung_step(share, num_steps) == step


def test_a_run_that_paused_twice_comes_out_as_one_that_did_not(tmp_path: Path) -> None:
    paused, whole = small_run(tmp_path), small_run(tmp_path, "training.evaluate_every=2", runs="others")
    for share in (1 / 3, 2 / 3):
        carry_out_to(paused, share)
        assert not RunFolder(paused.directory).result_file.exists()
    scores = record_of(paused).scores
    carry_out(paused)
    carry_out(whole)
    assert_same_outcome(paused, whole)
    curve = [(line["step"], line["validation_nll"]) for line in metrics(whole) if "validation_nll" in line]
    assert [(score.step, score.nll) for score in scores] == curve, "scored where the others are, with the same sum"
    assert [(line["step"], line["validation_nll"]) for line in metrics(paused) if "validation_nll" in line] == curve


def test_a_pause_scores_validation_alone(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    carry_out_to(run, 0.5)
    assert not (run.directory / "evaluation").exists()
    assert checkpoints(run) == ["step-3"]


def test_a_rung_is_reached_once(tmp_path: Path) -> None:
    run, steps = small_run(tmp_path), list[int]()
    carry_out_to(run, 0.5, talk=Heard(steps.append))
    carry_out_to(run, 0.5, talk=Heard(steps.append))
    assert steps == [1, 2, 3]
    assert [score.step for score in record_of(run).scores] == [3]


def test_killed_between_its_state_and_its_score_a_run_is_scored_when_it_goes_on(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    carry_out_to(run, 0.5)
    before, file = record_of(run), RunFolder(run.directory).rungs_file
    file.unlink()
    carry_out_to(run, 0.5)
    assert record_of(run) == before
    file.unlink()
    lines = RunFolder(run.directory).metrics_file.read_text().splitlines(keepends=True)
    RunFolder(run.directory).metrics_file.write_text("".join(line for line in lines if "validation" not in line))
    carry_out_to(run, 0.5)
    assert record_of(run) == before
    assert [line["step"] for line in metrics(run) if "validation_nll" in line] == [3]


def test_stopped_on_the_way_to_a_rung_a_run_goes_on_to_it(tmp_path: Path) -> None:
    run, steps = small_run(tmp_path), list[int]()

    def stop(step: int) -> None:
        steps.append(step)
        if step == 2 and len(steps) == 2:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted):
        carry_out_to(run, 0.5, talk=Heard(stop))
    carry_out_to(run, 0.5, talk=Heard(stop))
    assert steps == [1, 2, 3]


def test_a_pruned_run_keeps_its_score_and_no_weights(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    carry_out_to(run, 0.5)
    folder, score = RunFolder(run.directory), record_of(run).scores[0]
    for _ in range(2):
        prune(folder)
        assert record_of(run) == RungRecord(variant="tied", seed=0, scores=[score], pruned_at_step=3)
        assert checkpoints(run) == []
    carry_out_to(run, 2 / 3)
    assert [each.step for each in record_of(run).scores] == [3, 4]
    assert (record_of(run).scores[0], record_of(run).pruned_at_step) == (score, None), "taken up again, from the start"
    RunFolder(run.directory).clear()
    assert not folder.rungs_file.exists()


def test_scores_after_the_one_that_is_added_belong_to_an_earlier_try() -> None:
    record = RungRecord(variant="tied", seed=0, scores=[score_at(step) for step in (2, 4, 6)])
    again = record.with_score(score_at(4, nll=2))
    assert [(score.step, score.nll) for score in again.scores] == [(2, 1), (4, 2)]
    assert record.at(0.1 * 4) == score_at(4) and record.at(0.5) is None


def test_a_run_that_diverges_before_a_rung_fails_as_any_other(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.learning_rate=1e20", "training.max_grad_norm=null")
    with pytest.raises(RunError) as diverged:
        carry_out_to(run, 0.5)
    failure = RunFolder(run.directory).failure()
    assert diverged.value.kind == "diverged" and failure is not None and failure.kind == "diverged"
    assert read_rungs(RunFolder(run.directory)) is None


def test_a_run_too_short_for_a_rung_is_refused(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.steps=1")
    with pytest.raises(ConfigError, match="no step to be judged at"):
        carry_out_to(run, 0.5)
    assert not RunFolder(run.directory).metrics_file.exists()
