"""Curves for TensorBoard and wandb: only on request, every step once, also over a stop.

Where one of the two is installed (they are extras), a run is logged with it for real; the rest is tested without.
"""

import struct
from collections.abc import Iterator, Mapping
from importlib import util
from pathlib import Path

import pytest

from tests.support.small_runs import LONG, Heard, carry_out, small_experiment, small_run, stop_at
from tiedlm.config.base import ConfigError, first_difference
from tiedlm.errors import Interrupted, RunError
from tiedlm.experiment.carry_out import train
from tiedlm.experiment.plan import pick
from tiedlm.run.folder import RunFolder
from tiedlm.run.journal import ValidationRecord
from tiedlm.run.layout import Run
from tiedlm.run.loggers import Logger, check_loggers, curves_of
from tiedlm.run.metrics import MetricsFile
from tiedlm.training.record import StepRecord

WANDB_OFFLINE = {"WANDB_MODE": "offline", "WANDB_SILENT": "true"}
needs_tensorboard = pytest.mark.skipif(not util.find_spec("tensorboard"), reason="the extra tensorboard")
needs_wandb = pytest.mark.skipif(not util.find_spec("wandb"), reason="the extra wandb")


def expected(run: Run) -> dict[str, dict[int, float]]:
    """What the metrics of a run and its result say, by curve and step."""
    curves: dict[str, dict[int, float]] = {}
    for record in MetricsFile(RunFolder(run.directory).metrics_file).records():
        for name, value in curves_of(record).items():
            curves.setdefault(name, {})[record.step] = value
    result = RunFolder(run.directory).result()
    assert result is not None
    last = result.splits["validation"]
    curves.setdefault("validation/nats_per_token", {})[result.steps] = last.nll / last.tokens
    return curves


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


def test_what_is_drawn_are_loss_rate_gradient_and_validation() -> None:
    step = StepRecord(step=3, loss=2.5, learning_rate=1e-3, gradient_norm=0.5, tokens=64, seconds=0.1)
    assert curves_of(step) == {"train/loss": 2.5, "train/learning_rate": 1e-3, "train/gradient_norm": 0.5}
    validation = ValidationRecord(step=3, tokens=64, seconds=0.1, nll=30.0, num_tokens=12)
    assert curves_of(validation) == {"validation/nats_per_token": 2.5}


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
    assert {*events.Tags()["scalars"]} == {*curves}
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


def records_of(file: Path) -> Iterator[bytes]:
    """The records of one of wandb's files: 7 bytes of header, then a log as LevelDB writes it.

    Blocks of 32 KiB hold chunks of a checksum, a length and a kind (1 whole; 2 first, 3 middle, 4 last of a record).
    """
    data, place, record = file.read_bytes(), 7, b""
    while place + 7 <= len(data):
        if 32_768 - place % 32_768 < 7:
            place += 32_768 - place % 32_768
        _, length, kind = struct.unpack_from("<IHB", data, place)
        chunk, place = data[place + 7 : place + 7 + length], place + 7 + length
        record = chunk if kind in (1, 2) else record + chunk
        if kind in (1, 4):
            yield record


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
