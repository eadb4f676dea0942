"""metrics.jsonl: what is written is read back, and cut where a run goes on."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tiedlm.run.journal import Record, ValidationRecord
from tiedlm.run.metrics import MetricsFile
from tiedlm.run.result import UpdateRatios
from tiedlm.training.record import StepRecord


def step(number: int) -> StepRecord:
    return StepRecord(number, 2.5 / number, 1e-3, 0.75, 64 * number, 0.5 * number)


def validation(number: int, *, nll: float = 30.0, num_tokens: int = 12, is_final: bool = False) -> ValidationRecord:
    return ValidationRecord(number, 64 * number, 0.5 * number, nll, num_tokens, is_final)


def written(folder: Path, *records: Record) -> MetricsFile:
    file = MetricsFile(folder / "metrics.jsonl")
    for record in records:
        file.add(record)
    return file


def test_a_line_holds_the_keys_that_others_rely_on_in_their_order(tmp_path: Path) -> None:
    lines = written(tmp_path, StepRecord(2, 1.25, 1e-3, 0.75, 128, 1.000049), validation(2)).path.read_text()
    assert lines == (
        '{"step": 2, "loss": 1.25, "learning_rate": 0.001, "gradient_norm": 0.75, "tokens": 128, "seconds": 1.0}\n'
        '{"step": 2, "tokens": 128, "seconds": 1.0, "validation_nll": 30.0, "validation_tokens": 12}\n'
    )


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    ratios = {"shared_embedding": None, "body": 0.5}
    records: list[Record] = [step(1), step(2), validation(2), replace(step(3), update_ratios=ratios)]
    assert list(written(tmp_path, *records).records()) == records


def test_update_ratios_are_gathered_by_part_with_a_null_where_a_step_had_none(tmp_path: Path) -> None:
    first, later = {"input_embedding": 0.25, "body": 0.5}, {"body": 0.125}
    records = [replace(step(2), update_ratios=first), step(3), replace(step(4), update_ratios=later)]
    found = written(tmp_path, step(1), *records).update_ratios()
    assert found == UpdateRatios(steps=[2, 4], by_part={"input_embedding": [0.25, None], "body": [0.5, 0.125]})
    assert MetricsFile(tmp_path / "none").update_ratios() is None


def test_the_score_of_the_finished_model_is_left_to_the_result(tmp_path: Path) -> None:
    assert list(written(tmp_path, step(1), validation(1, is_final=True)).records()) == [step(1)]


def test_a_validation_without_a_time_has_that_of_its_step(tmp_path: Path) -> None:
    """Earlier versions wrote none."""
    file = written(tmp_path, step(3), validation(3))
    lines = [json.loads(line) for line in file.path.read_text().splitlines()]
    del lines[1]["seconds"]
    file.path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert list(file.records()) == [step(3), validation(3)]


@pytest.mark.parametrize("damage", ["{", "[]", '{"step": 4, "loss": 1.0}', '{"loss": 1.0, "seconds": 1.0}'])
def test_a_damaged_line_is_no_record(tmp_path: Path, damage: str) -> None:
    file = written(tmp_path, step(1))
    with file.path.open("a") as open_file:
        open_file.write(damage)
    with pytest.raises((ValueError, KeyError, TypeError)):
        list(file.records())


def test_the_curve_is_the_nats_per_token_of_each_validation_on_the_way(tmp_path: Path) -> None:
    assert MetricsFile(tmp_path / "none.jsonl").curve() == []
    empty = validation(3, nll=0.0, num_tokens=0)
    points = written(tmp_path, step(1), step(2), validation(2), step(3), empty).curve()
    assert [(point.step, point.tokens, point.seconds, point.nats_per_token) for point in points] == [(2, 128, 1.0, 2.5)]


def test_the_curve_is_read_beside_damaged_lines_of_steps(tmp_path: Path) -> None:
    """A run that has been trained is not lost over them."""
    file = written(tmp_path, step(1), step(2), validation(2))
    file.path.write_text(file.path.read_text().replace('"gradient_norm": 0.75, ', ""))
    assert [point.step for point in file.curve()] == [2]


def test_the_file_is_cut_to_a_step_and_a_broken_last_line_is_dropped(tmp_path: Path) -> None:
    file = MetricsFile(tmp_path / "metrics.jsonl")
    file.cut(3)
    assert not file.path.exists()
    for number in (1, 2, 3, 4):
        file.add(step(number))
    with file.path.open("a") as broken:
        broken.write('{"step": 5, "lo')
    before = file.path.read_text()
    file.cut(9)
    assert file.path.read_text().splitlines() == before.splitlines()[:4]
    file.cut(2)
    assert file.path.read_text().splitlines() == before.splitlines()[:2]
    file.add(step(3))
    assert list(file.records()) == [step(1), step(2), step(3)]


def test_cutting_tells_how_far_the_file_had_come(tmp_path: Path) -> None:
    file = MetricsFile(tmp_path / "metrics.jsonl")
    assert file.cut(0) == 0
    written(tmp_path, step(1), step(2), step(3))
    with file.path.open("a") as broken:
        broken.write('{"step": 4, "lo')
    assert file.cut(2) == 3, "a line cut short was handed on to nobody"
    assert file.cut(2) == 2
