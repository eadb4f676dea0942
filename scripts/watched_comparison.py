"""A comparison that runs in a process of its own, watched from outside: what it is at, and what came out."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

TIMES = {
    "seconds",
    "steady_seconds",
    "steady_tokens",
    "tokens_per_second",
    "tokens_per_second_percent",
    "memory",
    "sources",
}


class Comparison:
    """A comparison in a folder of its own, from the first start to the end."""

    def __init__(self, folder: Path, config: Path, steps: int) -> None:
        self.folder, self.config, self.steps = folder, config, steps
        self.runs = folder / "runs"
        self.process: subprocess.Popen[bytes] | None = None
        self.workers: set[int] = set()
        self.said = folder / "stderr.txt"
        folder.mkdir()

    def start(self) -> None:
        """As a user does, with what it says put into a file."""
        command = [sys.executable, "-m", "tiedlm_cli.main", "compare", str(self.config), "--json"]
        command += ["--runs-dir", str(self.runs), "--cache-dir", str(self.folder / "cache")]
        with self.said.open("ab") as said:
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, cwd=self.folder)

    def ends_within(self, seconds: float) -> int | None:
        """Its exit code, None where it still runs."""
        assert self.process is not None
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def worker(self) -> int | None:
        """The process of the run under way."""
        assert self.process is not None
        try:
            listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        except OSError:
            return None
        self.workers |= {int(child) for child in listed}
        return int(listed[0]) if listed else None

    def run_folders(self) -> list[Path]:
        """Those that were begun."""
        return sorted(self.runs.glob("kills/*/seed-*"))

    def moment(self) -> str:
        """What the run under way is at, as far as its files tell."""
        for folder in self.run_folders():
            if not (folder / "lock.json").exists() or (folder / "result.json").exists():
                continue
            if list(folder.glob("checkpoint/.*.part")):
                return "saving"
            lines = (folder / "metrics.jsonl").read_bytes() if (folder / "metrics.jsonl").exists() else b""
            if lines:
                return "scoring" if f'"step": {self.steps},'.encode() in lines else "training"
        return "starting"

    def saved(self) -> dict[str, int]:
        """The step of the newest checkpoint of each run."""
        found = {}
        for folder in self.run_folders():
            steps = [int(path.name.removeprefix("step-")) for path in folder.glob("checkpoint/step-*")]
            found[folder.parent.name] = max(steps, default=0)
        return found

    def living_workers(self) -> list[int]:
        """Processes of runs that have not ended yet."""
        return [pid for pid in self.workers if _is_worker(pid)]

    def outcome(self) -> dict[str, Any]:
        """Everything that must not hang on when it was killed: weights, scores, log, result, comparison."""
        found: dict[str, Any] = {"comparison": _timeless(_json(self.runs / "kills" / "comparison.json"))}
        for folder in self.run_folders():
            name = folder.parent.name
            weights = folder / "checkpoint" / f"step-{self.steps}" / "model.safetensors"
            found[f"{name} weights"] = hashlib.sha256(weights.read_bytes()).hexdigest()
            for scores in sorted((folder / "evaluation").glob("*.npz")):
                with np.load(scores) as arrays:
                    for key in arrays:
                        found[f"{name} {scores.stem} {key}"] = hashlib.sha256(arrays[key].tobytes()).hexdigest()
            lines = (folder / "metrics.jsonl").read_text().splitlines()
            found[f"{name} metrics"] = [_timeless(json.loads(line)) for line in lines]
            found[f"{name} result"] = _timeless(_json(folder / "result.json"))
            found[f"{name} files"] = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
        return found


def _is_worker(pid: int) -> bool:
    try:
        return b"tiedlm.run.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _timeless(value: Any) -> Any:
    """Without what is a time, a speed or a peak of memory, and where it was."""
    if isinstance(value, dict):
        return {key: _timeless(inner) for key, inner in value.items() if key not in TIMES}
    return [_timeless(inner) for inner in value] if isinstance(value, list) else value
