"""The verdict of a comparison in TensorBoard and wandb, where one of these extras is installed: logged for real."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.in_process import in_this_process
from tests.support.logger_files import WANDB_OFFLINE, needs_tensorboard, needs_wandb, records_of
from tests.support.small_runs import shared_cache, small_experiment, wait_for
from tiedlm.comparison.compare import compare
from tiedlm.comparison.comparison import Comparison


def test_without_a_logger_nothing_is_logged(compared: Callable[[str], Comparison], tmp_path: Path) -> None:
    compared("")
    assert {path.name for path in (tmp_path / "runs" / "small").iterdir()} == {"comparison.json", "tied", "untied"}


@pytest.fixture
def compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Comparison]:
    """Compares tied and untied of two seeds, with a logger."""
    for key, value in WANDB_OFFLINE.items():
        monkeypatch.setenv(key, value)

    def with_logger(name: str) -> Comparison:
        experiment = small_experiment(tmp_path, "seeds=[0, 1]", f"training.loggers=[{name}]")
        with in_this_process():
            return compare(experiment, runs_dir=tmp_path / "runs", cache_dir=shared_cache())

    return with_logger


def difference_of(comparison: Comparison) -> float:
    (mean,) = (found.mean for found in comparison.differences if found.split == "test")
    assert mean is not None
    return mean


def wandb_summary(file: Path) -> dict[str, str]:
    from wandb.proto import wandb_internal_pb2

    summary: dict[str, str] = {}
    for data in records_of(file):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        summary |= {item.key or "/".join(item.nested_key): item.value_json for item in record.summary.update}
    return summary


@needs_tensorboard
def test_tensorboard_gets_the_verdict_of_a_comparison_once(
    tmp_path: Path, compared: Callable[[str], Comparison]
) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    comparison = compared("tensorboard")
    assert compared("tensorboard") == comparison, "what is only printed is not logged again"
    events = EventAccumulator(str(tmp_path / "runs" / "small" / "tensorboard"))
    events.Reload()
    (verdict,) = events.Tensors("verdict/text_summary")
    assert (verdict.step, verdict.tensor_proto.string_val[0].decode()) == (2, comparison.verdict)
    (difference,) = events.Scalars("test/difference/tied")
    assert difference.value == pytest.approx(difference_of(comparison), rel=1e-6)


@needs_wandb
def test_wandb_gets_the_verdict_of_a_comparison(tmp_path: Path, compared: Callable[[str], Comparison]) -> None:
    comparison = compared("wandb")
    (file,) = (tmp_path / "runs" / "small" / "wandb").rglob("run-*.wandb")
    wait_for(lambda: "verdict" in wandb_summary(file))  # a process of wandb's own writes it
    summary = wandb_summary(file)
    assert json.loads(summary["verdict"]) == comparison.verdict
    assert json.loads(summary["test/difference/tied"]) == difference_of(comparison)
