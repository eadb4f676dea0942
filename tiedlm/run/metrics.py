"""metrics.jsonl: the journal of a run as lines of JSON, written and read. Free of torch."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tiedlm.errors import RunError
from tiedlm.files import write_atomic
from tiedlm.paths import reason
from tiedlm.run.journal import Record, ValidationRecord
from tiedlm.run.result import CurvePoint, UpdateRatios
from tiedlm.training.record import StepRecord


class MetricsFile:
    """The file of a run, a writer of its journal: a line for every step, and one for every validation on the way.

    The score of the finished model is not a line of it: the result holds that.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, record: Record) -> None:
        """Add a line, which can be read at once; raises RunError("disk")."""
        if isinstance(record, ValidationRecord) and record.is_final:
            return
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(_to_line(record), allow_nan=False) + "\n")
        except OSError as error:
            raise RunError("disk", f"{self.path} could not be written: {reason(error, self.path)}") from error

    def flush(self) -> None:
        """Nothing to do: every line is written as it is added."""

    def close(self, ended_well: bool) -> None:
        """Nothing to do: the file is open only while a line is added."""

    def records(self) -> Iterator[Record]:
        """All records, in the order of the lines; raises ValueError, KeyError or TypeError where a line is damaged."""
        return map(_from_line, self._lines())

    def curve(self) -> list[CurvePoint]:
        """The nats per token of every validation on the way, by step. Lines of steps may be damaged or missing."""
        validations = [_validation(line) for line in self._lines() if "validation_nll" in line]
        return [
            CurvePoint(step=record.step, tokens=record.tokens, seconds=record.seconds, nats_per_token=nats)
            for record in validations
            if (nats := record.nats_per_token) is not None
        ]

    def update_ratios(self) -> UpdateRatios | None:
        """The update ratios of the steps that were measured; None where none was. Other lines may be damaged."""
        measured = {int(line["step"]): line["update_ratios"] for line in self._lines() if line.get("update_ratios")}
        if not measured:
            return None
        parts = dict.fromkeys(part for ratios in measured.values() for part in ratios)
        return UpdateRatios(
            steps=list(measured),
            by_part={part: [ratios.get(part) for ratios in measured.values()] for part in parts},
        )

    def validation_at(self, step: int) -> ValidationRecord | None:
        """The validation on the way after a step, if there is one. Lines of steps may be damaged or missing."""
        lines = (line for line in self._lines() if "validation_nll" in line and line["step"] == step)
        return next(map(_validation, lines), None)

    def losses(self) -> dict[int, float]:
        """The training loss of each step; raises ValueError, KeyError or TypeError where a line is damaged."""
        return {int(line["step"]): float(line["loss"]) for line in self._lines() if "loss" in line}

    def _lines(self) -> Iterator[dict[str, Any]]:
        """All lines; none where there is no file. A validation of earlier versions gets the seconds of its step."""
        if not self.path.is_file():
            return
        seconds: dict[int, float] = {}
        for text in self.path.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            if "seconds" in line:
                seconds[line["step"]] = line["seconds"]
            elif line["step"] in seconds:
                line["seconds"] = seconds[line["step"]]
            yield line

    def cut(self, last_step: int) -> int:
        """Remove the lines after `last_step`, that of the checkpoint: these steps will be taken, and written, again.

        Returns the last step that had a line.
        """
        if not self.path.is_file():
            return 0
        kept, step = [], 0
        for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                step = json.loads(line)["step"]
            except (ValueError, KeyError, TypeError):
                break  # a line cut short by a crash; nothing after it can be older
            if step <= last_step:
                kept.append(line)
        write_atomic(self.path, "".join(f"{line}\n" for line in kept))
        return int(step)


def _to_line(record: Record) -> dict[str, Any]:
    if isinstance(record, StepRecord):
        line = {
            "step": record.step,
            "loss": record.loss,
            "learning_rate": record.learning_rate,
            "gradient_norm": record.gradient_norm,
            "tokens": record.tokens,
            "seconds": round(record.seconds, 4),
        }
        return line | ({} if record.update_ratios is None else {"update_ratios": dict(record.update_ratios)})
    return {
        "step": record.step,
        "tokens": record.tokens,
        "seconds": round(record.seconds, 4),
        "validation_nll": record.nll,
        "validation_tokens": record.num_tokens,
    }


def _from_line(line: dict[str, Any]) -> Record:
    if "loss" in line:
        return StepRecord(
            step=line["step"],
            loss=line["loss"],
            learning_rate=line["learning_rate"],
            gradient_norm=line["gradient_norm"],
            tokens=line["tokens"],
            seconds=line["seconds"],
            update_ratios=line.get("update_ratios"),
        )
    return _validation(line)


def _validation(line: dict[str, Any]) -> ValidationRecord:
    return ValidationRecord(
        step=line["step"],
        tokens=line["tokens"],
        seconds=line["seconds"],
        nll=line["validation_nll"],
        num_tokens=line["validation_tokens"],
    )
