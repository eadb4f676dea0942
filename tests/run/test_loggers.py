"""Curves for TensorBoard and wandb: only on request, every step once, also over a stop.

Where one of the two is installed (they are extras), a run is logged with it for real; the rest is tested without.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from importlib import util
from pathlib import Path

import pytest

from tests.support.logger_files import WANDB_OFFLINE, needs_tensorboard, needs_wandb, records_of
from tests.support.small_runs import LONG, Heard, carry_out, small_experiment, small_run, stop_at
from tiedlm.config.base import ConfigError, first_difference
from tiedlm.errors import Interrupted, RunError
from tiedlm.experiment.carry_out import train
from tiedlm.experiment.plan import pick
from tiedlm.run.folder import RunFolder
from tiedlm.run.journal import ValidationRecord
from tiedlm.run.layout import Run
from tiedlm.run.loggers import Logger, Resumed, check_loggers, curves_of
from tiedlm.run.metrics import MetricsFile
from tiedlm.training.record import StepRecord


def expected(run: Run) -> dict[str, dict[int, float]]:
    """What the metrics of a run and its result say, by curve and step; the speed is tested by itself."""
    curves: dict[str, dict[int, float]] = {}
    for record in MetricsFile(RunFolder(run.directory).metrics_file).records():
        for name, value in curves_of(record).items():
            curves.setdefault(name, {})[record.step] = value
    result = RunFolder(run.directory).result()
    assert result is not None
    last = result.splits["validation"]
    curves.setdefault("validation/nats_per_token", {})[result.steps] = last.nll / last.tokens
    curves.setdefault("validation/perplexity", {})[result.steps] = math.exp(last.nll / last.tokens)
    return curves


class Recording(Logger):
    """Keeps what is logged."""

    def __init__(self, resumed: Resumed) -> None:
        super().__init__(resumed)
        self.logged: list[tuple[int, dict[str, float]]] = []

    def close(self, ended_well: bool) -> None:
        pass

    def _log(self, step: int, values: Mapping[str, float]) -> None:
        self.logged.append((step, dict(values)))

    def _flush(self) -> None:
        pass


def test_the_speed_of_a_step_is_that_since_the_step_before_also_of_the_first_after_a_stop() -> None:
    """64 tokens a step; the fifth takes 2 s, the others half a second."""
    seconds = {4: 2.0, 5: 4.0, 6: 4.5}
    steps = [
        StepRecord(step=step, loss=2.5, learning_rate=1e-3, gradient_norm=0.5, tokens=64 * step, seconds=gone)
        for step, gone in seconds.items()
    ]
    logger = Recording(Resumed(kept=3, written=3, tokens=192, seconds=1.5))
    for record in steps:
        logger.add(record)
    logger.add(ValidationRecord(step=6, tokens=384, seconds=4.5, nll=30.0, num_tokens=12))
    assert [values.get("train/tokens_per_second") for _, values in logger.logged] == [128.0, 32.0, 128.0, None]


def test_one_that_is_not_installed_is_said_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tiedlm.run.loggers.util.find_spec", lambda name: None)
    experiment = small_experiment(tmp_path, "training.loggers=[tensorboard, wandb]")
    run = Run(pick(experiment, "tied"), tmp_path / "runs")
    with pytest.raises(ConfigError) as missing:
        train(experiment, run, cache_dir=tmp_path / "cache")
    (problem,) = missing.value.problems
    assert problem.key == "training.loggers"
    assert "pip install 'tiedlm[tensorboard,wandb]'" in problem.message
    assert not (tmp_path / "runs").exists() and not (tmp_path / "cache").exists()


def test_a_folder_of_that_name_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that use wandb leave a folder `wandb` wherever they are started."""
    if util.find_spec("wandb"):
        pytest.skip("a package of that name is there too, and is found")
    (tmp_path / "wandb").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match="wandb"):
        check_loggers(["wandb"])


def test_loggers_belong_to_no_runs_identity_and_are_checked(tmp_path: Path) -> None:
    plain, logged = small_run(tmp_path), small_run(tmp_path, "training.loggers=[tensorboard]")
    assert first_difference(plain.config, logged.config) is None
    for wrong, words in (("[tensorbord]", "'tensorboard' or 'wandb'"), ("[wandb, wandb]", "more than once")):
        with pytest.raises(ConfigError, match=words):
            small_run(tmp_path, f"training.loggers={wrong}")


def test_what_is_drawn_are_loss_rate_gradient_validation_and_what_was_measured_of_the_update() -> None:
    step = StepRecord(step=3, loss=2.5, learning_rate=1e-3, gradient_norm=0.5, tokens=64, seconds=0.1)
    assert curves_of(step) == {"train/loss": 2.5, "train/learning_rate": 1e-3, "train/gradient_norm": 0.5}
    measured = replace(step, update_ratios={"output_embedding": None, "body": 0.25})
    assert curves_of(measured) == {**curves_of(step), "train/update_ratio/body": 0.25}
    validation = ValidationRecord(step=3, tokens=64, seconds=0.1, nll=30.0, num_tokens=12)
    assert curves_of(validation) == {"validation/nats_per_token": 2.5, "validation/perplexity": math.exp(2.5)}


def test_a_validation_split_without_a_token_is_not_drawn() -> None:
    assert curves_of(ValidationRecord(step=3, tokens=64, seconds=0.1, nll=0.0, num_tokens=0)) == {}


class FullDisk(Logger):
    """A logger that nothing can be written with."""

    def close(self, ended_well: bool) -> None:
        self._flush()

    def _log(self, step: int, values: Mapping[str, float]) -> None:
        self._flush()

    def _flush(self) -> None:
        raise OSError(28, "No space left on device")


def test_a_disk_without_room_is_told_as_such() -> None:
    record = ValidationRecord(step=3, tokens=64, seconds=0.1, nll=30.0, num_tokens=12)
    for write in (FullDisk().flush, lambda: FullDisk().add(record)):
        with pytest.raises(RunError, match=r"training\.loggers.*No space left") as full:
            write()
        assert full.value.kind == "disk"


def stopped_and_resumed(folder: Path, *settings: str) -> Run:
    """A run that was stopped after step 5, killed after step 9 with a checkpoint at 8, and brought to its end."""
    steps = ("training.steps=12", "training.checkpoint_every=4", "training.evaluate_every=3")
    run = small_run(folder, *steps, *settings)
    with pytest.raises(Interrupted):
        carry_out(run, talk=stop_at(5))

    def die(step: int) -> None:
        if step == 10:
            raise RuntimeError("as if killed: no checkpoint is written")

    with pytest.raises(RuntimeError, match="as if killed"):
        carry_out(run, talk=Heard(die))
    carry_out(run)
    return run


@needs_tensorboard
def test_tensorboard_shows_every_step_once_over_stops(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = stopped_and_resumed(tmp_path, "training.loggers=[tensorboard]")
    events = EventAccumulator(str(run.directory / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    curves = expected(run)
    assert {*events.Tags()["scalars"]} == {*curves, "train/tokens_per_second"}
    speeds = events.Scalars("train/tokens_per_second")
    assert [event.step for event in speeds] == list(range(1, 13)) and all(event.value > 0 for event in speeds)
    (config,) = events.Tensors("config/text_summary")
    assert '"steps": 12' in config.tensor_proto.string_val[0].decode()
    for name, curve in curves.items():
        shown = events.Scalars(name)
        assert [event.step for event in shown] == sorted(curve), name
        assert [event.value for event in shown] == pytest.approx([curve[step] for step in sorted(curve)], rel=1e-6)


@needs_tensorboard
def test_a_fresh_start_leaves_no_curve_of_before(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with pytest.raises(Interrupted):
        carry_out(small_run(tmp_path, LONG, "training.loggers=[tensorboard]"), talk=stop_at(9))
    run = small_run(tmp_path, "training.loggers=[tensorboard]")
    carry_out(run, fresh=True)
    events = EventAccumulator(str(run.directory / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("train/loss")] == [1, 2, 3, 4, 5, 6]


@needs_wandb
def test_wandb_takes_every_step_once_over_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Offline: what would be sent is read from its own files, all of one run."""
    from wandb.proto import wandb_internal_pb2

    for key, value in WANDB_OFFLINE.items():
        monkeypatch.setenv(key, value)
    run = stopped_and_resumed(tmp_path, "training.loggers=[wandb]")
    told: dict[str, list[int]] = {}
    identities = set()
    for file in (run.directory / "wandb").rglob("run-*.wandb"):
        for data in records_of(file):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)
            if record.WhichOneof("record_type") == "run":
                identities.add(record.run.run_id)
            for item in record.history.item:
                told.setdefault(item.key or "/".join(item.nested_key), []).append(record.history.step.num)
    assert len(identities) == 1
    for name, curve in expected(run).items():
        assert sorted(told[name]) == sorted(curve), name
