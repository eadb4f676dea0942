"""Have a task done by a worker, a process of its own: the parent's side. Free of torch.

The worker (tiedlm/run/worker) gets the task as one line of JSON on its standard input, which stays open: when it
closes, the worker ends. How the task ended comes back as one line of JSON on the worker's standard output.
"""

import json
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Self

from tiedlm.config.base import ConfigError, Problem
from tiedlm.errors import Interrupted, RunError
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder, raw_config
from tiedlm.run.layout import Run
from tiedlm.run.result import RunFailure
from tiedlm.talk import Talk
from tiedlm.time_left import NONE_AHEAD, Ahead


def run_in_child(
    run: Run,
    *,
    cache_dir: Path,
    fresh: bool,
    prefix: str,
    siblings: Sequence[Run],
    quiet: bool = False,
    ahead: Ahead = NONE_AHEAD,
    until: float | None = None,
) -> None:
    """Carry out a run, or the part `until` of it, in a worker, which sees SIGINT and SIGTERM through this process.

    It ends with this process. A `quiet` worker shows no progress; `ahead` is for the time left that others show.
    Raises what the run raised: ConfigError, RunError, Interrupted; the last also where the run had just ended well.
    """
    described = {"run": _described(run), "siblings": [_described(sibling) for sibling in siblings]}
    options = {"cache_dir": str(cache_dir), "fresh": fresh, "prefix": prefix, "quiet": quiet}
    options |= {"ahead": ahead, "until": until}
    request = {"task": "run", **described, **options}
    # in a session of its own: a terminal's Ctrl-C reaches this process alone, which hands it on once
    with (
        _Forwarding() as forwarding,
        subprocess.Popen(
            _command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        ) as worker,
    ):
        forwarding.begin(worker)
        outcome = _ask(worker, request)
    Talk().clear()
    _raise_where_stopped(run, outcome, forwarding.received)
    try:
        outcome.result("the run's process", last_line="what it said stands above")
    except RunError as error:
        if outcome.is_fault:
            _write_down(run, error)
        raise


def _raise_where_stopped(run: Run, outcome: "_Outcome", received: signal.Signals | None) -> None:
    """Raise Interrupted where a signal came and the worker itself has no word on it."""
    if received is not None and outcome.code == 0:
        raise Interrupted(received, f"{run.label}: finished and scored; run it again for what comes after it")
    if received is not None and not outcome.document:
        raise Interrupted(received, f"{run.label}: stopped before it began to train, or a second time while it saved")


def call_worker(task: str, config: RunConfig, **arguments: Any) -> Any:
    """The result of a task in a worker that says nothing on the terminal. Raises what the task raised."""
    request = {"task": task, "config": raw_config(config), **arguments}
    with (
        tempfile.TemporaryFile() as stderr,
        subprocess.Popen(
            _command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True, encoding="utf-8"
        ) as worker,
    ):
        try:
            outcome = _ask(worker, request)
        except BaseException:  # Ctrl-C, say
            worker.kill()
            raise
        stderr.seek(0)
        said = stderr.read().decode(errors="replace").strip().splitlines()
    return outcome.result("its process", last_line=said[-1] if said else "")


def in_a_line(error: RunError) -> str:
    """Why a task failed: the last line of its traceback where it was a fault of the program."""
    return str(error.__cause__ or error).strip().splitlines()[-1]


@dataclass(frozen=True)
class _Outcome:
    """How a worker ended: its exit code and the document it printed, which is empty where it could not print any."""

    code: int
    document: dict[str, Any]

    @property
    def is_fault(self) -> bool:
        """Whether it ended by a fault of the program or without a word, so that its run's folder does not tell it."""
        return self.code != 0 and (not self.document or "trace" in self.document)

    def result(self, process: str, last_line: str) -> Any:
        """The result of the task, or raise what it raised; `process` and `last_line` are for an end without a word."""
        document = self.document
        if self.code == 0:
            return document.get("result")
        if "signal" in document:
            raise Interrupted(signal.Signals(document["signal"]), document["message"])
        if "problems" in document:
            raise ConfigError(*(Problem(**problem) for problem in document["problems"]), source=document["source"])
        if "trace" in document:
            trace = RuntimeError(f"in {process}:\n{document['trace']}")
            raise RunError(document["kind"], document["message"]) from trace
        if "kind" in document:
            raise RunError(document["kind"], document["message"], document.get("step"))
        if self.code == -signal.SIGKILL:
            raise RunError("killed", f"{process} was killed (SIGKILL), which is what a system out of memory does")
        if self.code < 0:
            raise RunError("killed", f"{process} ended by {signal.Signals(-self.code).name}")
        raise RunError("error", f"{process} ended with code {self.code}{last_line and f'; {last_line}'}")


def _command() -> list[str]:
    return [sys.executable, "-P", "-m", "tiedlm.run.worker"]  # -P: the user's files are no modules of the worker's


def _ask(worker: "subprocess.Popen[str]", request: dict[str, Any]) -> _Outcome:
    """Hand a task to a worker and wait for its end."""
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(json.dumps(request) + "\n")
    worker.stdin.flush()  # and stays open: it closes when this process ends
    document = _last_document(worker.stdout.read())
    code = worker.wait()
    return _Outcome(code, {} if code and "result" in document else document)


def _last_document(output: str) -> dict[str, Any]:
    """The line of JSON in what a worker printed; a library may have printed something too."""
    for line in reversed(output.splitlines()):
        try:
            document = json.loads(line)
        except ValueError:
            continue
        if isinstance(document, dict):
            return document
    return {}


def _described(run: Run) -> dict[str, Any]:
    return {"config": raw_config(run.config), "runs_dir": str(run.runs_dir)}


def _write_down(run: Run, error: RunError) -> None:
    """Keep in a run's folder why it failed, where the run could not do so itself."""
    failure = RunFailure(variant=run.config.variant, seed=run.config.seed, kind=error.kind, message=str(error))
    with suppress(RunError):  # a full disk takes no failure either
        RunFolder(run.directory).fail(run.config, failure)


class _Forwarding:
    """Inside the block SIGINT and SIGTERM go to the worker, which saves and ends; also one that came before it.

    Signals reach the main thread alone: in another one, as of a server, nothing is handed on.
    """

    def __init__(self) -> None:
        self.worker: subprocess.Popen[str] | None = None
        self.received: signal.Signals | None = None
        self.before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self.before[number] = signal.signal(number, self._hand_on)
        return self

    def begin(self, worker: "subprocess.Popen[str]") -> None:
        """From now on there is a worker."""
        self.worker = worker
        if self.received is not None:
            worker.send_signal(self.received)

    def _hand_on(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)
        if self.worker is not None:
            self.worker.send_signal(number)

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
