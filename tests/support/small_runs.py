"""Runs that take a moment: a text of 1,200 bytes, one token a byte, a model of one layer."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from safetensors.numpy import load_file

from tiedlm.data.cache_dir import default_cache_dir
from tiedlm.data.open_corpus import open_corpus
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.plan import pick
from tiedlm.experiment.reading import load_experiment
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.result import RunResult
from tiedlm.talk import SILENT, Silence, Talk, Update

LONG = "training.steps=100_000"
CONFIG = """
name: small
data:
  corpus: {type: text, file: %s, fractions: [0.8, 0.1, 0.1]}
  tokenizer: {type: byte}
  seq_len: 16
model: {num_layers: 1, dim: 16, num_heads: 2}
training: {steps: 6, batch_size: 4, learning_rate: 1e-3, precision: fp32, device: cpu, num_threads: 1}
variants:
  tied: {model: {tying: {type: tied}}}
  untied: {model: {tying: {type: untied}}}
"""


def small_config(folder: Path, old: str = "", new: str = "") -> Path:
    """The config file, with one piece of it put in the place of another, beside its text."""
    text = folder / "text.txt"
    if not text.exists():
        paragraphs = (f"Paragraph {number} says ē, and {number * number} too.\n\n" for number in range(30))
        text.write_text("".join(paragraphs), encoding="utf-8")
    path = folder / "small.yaml"
    path.write_text((CONFIG % text).replace(old, new) if old else CONFIG % text, encoding="utf-8")
    return path


def small_experiment(folder: Path, *settings: str) -> Experiment:
    """Tied and untied; settings as on the command line."""
    return load_experiment(small_config(folder), list(settings))


def small_run(folder: Path, *settings: str, variant: str = "tied", runs: str = "runs", seed: int | None = None) -> Run:
    """One run of it, in `folder/runs`."""
    return Run(pick(small_experiment(folder, *settings), variant, seed), folder / runs)


def carry_out(run: Run, *, fresh: bool = False, talk: Talk = SILENT, cache: Path | None = None) -> RunResult:
    """In this process."""
    from tiedlm.run.execute import execute

    return execute(run, cache_dir=cache or shared_cache(), fresh=fresh, talk=talk)


def carry_out_to(run: Run, share: float, *, talk: Talk = SILENT, cache: Path | None = None) -> None:
    """Up to a rung, in this process."""
    from tiedlm.run.execute import execute_to

    execute_to(run, share, cache_dir=cache or shared_cache(), talk=talk)


def shared_cache() -> Path:
    """The cache of this process's tests: what a step needs is worked out once for all runs that are alike."""
    return default_cache_dir()


@contextmanager
def counting_openings() -> Iterator[list[str]]:
    """Inside, a name is added whenever the text of a run is opened, by this process."""
    opened: list[str] = []

    def counted(config: Any) -> Any:
        opened.append(config.type)
        return open_corpus(config)

    with mock.patch("tiedlm.data.prepare.open_corpus", counted):
        yield opened


def metrics(run: Run) -> list[dict[str, Any]]:
    """Every line of metrics.jsonl."""
    return [json.loads(line) for line in RunFolder(run.directory).metrics_file.read_text().splitlines()]


def steps(run: Run) -> list[dict[str, Any]]:
    """What was written of each training step, the time it took aside."""
    return [{key: line[key] for key in line if key != "seconds"} for line in metrics(run) if "loss" in line]


def checkpoints(run: Run) -> list[str]:
    """The names of everything that lies among the checkpoints."""
    folder = RunFolder(run.directory).checkpoints
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def newest_step(run: Run) -> int:
    return max(int(name.removeprefix("step-")) for name in checkpoints(run))


def weights(run: Run) -> dict[str, np.ndarray]:
    """The weights of the newest checkpoint."""
    path = RunFolder(run.directory).checkpoints / f"step-{newest_step(run)}" / "model.safetensors"
    found: dict[str, np.ndarray] = load_file(path)
    return found


def environment() -> dict[str, str]:
    """For a process that imports this module too."""
    known = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent.parent), *([known] if known else [])]),
    }


def assert_same_outcome(one: Run, other: Run, from_step: int = 1) -> None:
    """Bit for bit: the steps from one on, the final weights, every score, the hashes."""
    mine, theirs = (RunFolder(run.directory) for run in (one, other))
    assert steps(one)[from_step - 1 :] == steps(other)[from_step - 1 :]
    assert [line["step"] for line in steps(one)] == [line["step"] for line in steps(other)]
    for name, tensor in weights(one).items():
        assert np.array_equal(tensor, weights(other)[name]), name
    for split in ("train", "validation", "test"):
        scores = [np.load(folder.evaluation_file(split))["nll"] for folder in (mine, theirs)]
        assert np.array_equal(*scores), split
    first, second = mine.result(), theirs.result()
    assert first is not None and second is not None
    for key in ("splits", "hashes", "first_loss", "last_loss", "tokens_seen", "steps"):
        assert getattr(first, key) == getattr(second, key), key


class Heard(Silence):
    """Keeps what is said, and calls `at_step(step)` while a run trains."""

    def __init__(self, at_step: Callable[[int], None] = lambda step: None) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.at_step = at_step

    def say(self, text: str) -> None:
        self.lines.append(text)

    @contextmanager
    def progress(self, label: str, total: float) -> Iterator[Update]:
        trains = not label.endswith("split")
        yield lambda done, words: self.at_step(int(done)) if trains else None


def stop_at(step: int, number: signal.Signals = signal.SIGTERM) -> Heard:
    """Sends this process a signal once `step` is done."""
    return Heard(lambda done: os.kill(os.getpid(), number) if done == step else None)


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)


def has_trained(run: Run, num_steps: int) -> bool:
    file = RunFolder(run.directory).metrics_file
    return file.is_file() and file.read_bytes().count(b"\n") >= num_steps


def holder(run: Run) -> int:
    """The process that carries a run out."""
    return int(json.loads((run.directory / "lock.json").read_text())["process"])


@contextmanager
def meanwhile(act: Callable[[], None]) -> Iterator[None]:
    """Let a second thread act while the block runs; what fails there fails here."""
    failed: list[BaseException] = []

    def guarded() -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001 (raised again below)
            failed.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    if failed:
        raise failed[0]
