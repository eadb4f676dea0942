"""Start the process of a run, wait for it, and hand on what happens to either side. Free of torch."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, Self

from tiedlm.config.base import ConfigError, Problem
from tiedlm.errors import Interrupted, RunError
from tiedlm.run.folder import RunFolder, raw_config
from tiedlm.run.layout import Run
from tiedlm.run.result import RunFailure


def run_in_child(run: Run, *, cache_dir: Path, fresh: bool, prefix: str, siblings: Sequence[Run]) -> None:
    """Carry out a run in a process of its own, which sees SIGINT and SIGTERM through this one and ends with it.

    Raises what the run raised: ConfigError, RunError, Interrupted; the last also where the run had just ended well.
    """
    request = {
        "run": _request(run),
        "siblings": [_request(sibling) for sibling in siblings],
        "cache_dir": str(cache_dir),
        "fresh": fresh,
        "prefix": prefix,
    }
    command = [sys.executable, "-P", "-m", "tiedlm.run.worker"]  # -P: files of the user's are no modules of ours
    # in a session of its own: a terminal's Ctrl-C reaches this process alone, which hands it on once
    with (
        _Forwarding() as forwarding,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", start_new_session=True
        ) as child,
    ):
        forwarding.begin(child)
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(json.dumps(request) + "\n")
        child.stdin.flush()  # and stays open: it closes when this process ends
        outcome = child.stdout.read()
        code = child.wait()
    _raise_outcome(run, code, outcome, forwarding.received)


def _request(run: Run) -> dict[str, Any]:
    return {"config": raw_config(run.config), "directory": str(run.directory)}


def _raise_outcome(run: Run, code: int, outcome: str, received: signal.Signals | None) -> None:
    told = _told(outcome)
    if code == 0 and received is not None:
        raise Interrupted(received, f"{run.label}: finished and scored; run it again for what comes after it")
    if code == 0:
        return
    if "signal" in told:
        raise Interrupted(signal.Signals(told["signal"]), told["message"])
    if "problems" in told:
        raise ConfigError(*(Problem(**problem) for problem in told["problems"]), source=told["source"])
    if "trace" in told:
        raise _failed(run, told["kind"], told["message"]) from RuntimeError(f"in the run's process:\n{told['trace']}")
    if "kind" in told:
        raise RunError(told["kind"], told["message"], told.get("step"))
    if received is not None:
        raise Interrupted(received, f"{run.label}: stopped before it began to train, or a second time while it saved")
    raise _unexplained(run, code)


def _told(outcome: str) -> dict[str, Any]:
    """The line of JSON that a run which did not end well leaves; a library may have printed something too."""
    for line in reversed(outcome.splitlines()):
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict):
            return told
    return {}


def _unexplained(run: Run, code: int) -> RunError:
    """The process ended without a word: killed from outside, or by an error that is a fault of the program."""
    if code == -signal.SIGKILL:
        kind, message = "killed", "the run's process was killed (SIGKILL), which is what a system out of memory does"
    elif code < 0:
        kind, message = "killed", f"the run's process ended by {signal.Signals(-code).name}"
    else:
        kind, message = "error", f"the run's process ended with code {code}; what it said stands above"
    return _failed(run, kind, message)


def _failed(run: Run, kind: str, message: str) -> RunError:
    """What a run that could not say so itself came to, which its folder keeps."""
    failure = RunFailure(variant=run.config.variant, seed=run.config.seed, kind=kind, message=message)
    with suppress(RunError):  # a full disk takes no failure either
        RunFolder(run.directory).fail(run.config, failure)
    return RunError(kind, message)


class _Forwarding:
    """Inside the block SIGINT and SIGTERM go to the child, which saves and ends; one that came too early, too."""

    def __init__(self) -> None:
        self.child: subprocess.Popen[str] | None = None
        self.received: signal.Signals | None = None
        self.before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self.before[number] = signal.signal(number, self._hand_on)
        return self

    def begin(self, child: "subprocess.Popen[str]") -> None:
        """From now on there is a child."""
        self.child = child
        if self.received is not None:
            child.send_signal(self.received)

    def _hand_on(self, number: int, frame: FrameType | None) -> None:
        self.received = signal.Signals(number)
        if self.child is not None:
            self.child.send_signal(number)

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
