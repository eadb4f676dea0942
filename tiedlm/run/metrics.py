"""metrics.jsonl: a line of JSON for every step, and one for every validation. Free of torch."""

import json
from collections.abc import Mapping
from pathlib import Path

from tiedlm.errors import RunError
from tiedlm.files import write_atomic
from tiedlm.run.result import CurvePoint


class Metrics:
    """The file, to which lines are added while a run goes on; each is there to be read at once."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, line: Mapping[str, float]) -> None:
        """Add a line; raises RunError("disk")."""
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, allow_nan=False) + "\n")
        except OSError as error:
            message = f"{self.path} could not be written: {error.strerror or error} (disk full, or no right to write?)"
            raise RunError("disk", message) from error

    def validations(self) -> list[CurvePoint]:
        """Every time the validation split was scored on the way, by step."""
        if not self.path.is_file():
            return []
        lines = [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]
        seconds = {line["step"]: line["seconds"] for line in lines if "seconds" in line}  # those of the step itself
        return [
            CurvePoint(
                step=line["step"],
                tokens=line["tokens"],
                seconds=seconds[line["step"]],
                nats_per_token=line["validation_nll"] / line["validation_tokens"],
            )
            for line in lines
            if line.get("validation_tokens")
        ]

    def cut(self, last_step: int) -> int:
        """Keep the lines up to `last_step`: what came after it is not in the checkpoint and will come again.

        Returns the last step that stood there.
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
