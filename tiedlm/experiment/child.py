"""Start the process of a run, wait for it, and hand on what happens to either side. Free of torch."""

import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiedlm.config import ConfigError, Problem
from tiedlm.errors import Interrupted, RunError
from tiedlm.experiment.plan import Run
from tiedlm.experiment.results import RunFailure
from tiedlm.experiment.store import RunFolder, raw_config


def run_in_child(run: Run, *, cache_dir: Path, fresh: bool, prefix: str, siblings: Sequence[Run]) -> None:
    """Carry out a run in a process of its own, which sees SIGINT and SIGTERM through this one and ends with it.

    Raises what the run raised: ConfigError, RunError, Interrupted.
    """
    request = {
        "run": _request(run),
        "siblings": [_request(sibling) for sibling in siblings],
        "cache_dir": str(cache_dir),
        "fresh": fresh,
        "prefix": prefix,
    }
    command = [sys.executable, "-m", "tiedlm.experiment.worker"]
    # in a session of its own: a terminal's Ctrl-C reaches this process alone, which hands it on once
    with (
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", start_new_session=True
        ) as child,
        _Forwarding(child),
    ):
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(json.dumps(request) + "\n")
        child.stdin.flush()  # and stays open: it closes when this process ends
        outcome = child.stdout.read()
        code = child.wait()
    _raise_outcome(run, code, outcome)


def _request(run: Run) -> dict[str, Any]:
    return {"config": raw_config(run.config), "directory": str(run.directory)}


def _raise_outcome(run: Run, code: int, outcome: str) -> None:
    if code == 0:
        return
    lines = outcome.strip().splitlines()
    told = json.loads(lines[-1]) if lines else {}
    if "signal" in told:
        raise Interrupted(signal.Signals(told["signal"]), told["message"])
    if "problems" in told:
        raise ConfigError(*(Problem(**problem) for problem in told["problems"]), source=told["source"])
    if "kind" in told:
        raise RunError(told["kind"], told["message"], told.get("step"))
    raise _unexplained(run, code)


def _unexplained(run: Run, code: int) -> RunError:
    """The process ended without a word: killed from outside, or by an error that is a fault of the program."""
    if code == -signal.SIGKILL:
        kind, message = "killed", f"{run.label}: its process was killed (SIGKILL), as a system out of memory does"
    elif code < 0:
        kind, message = "killed", f"{run.label}: its process ended by {signal.Signals(-code).name}"
    else:
        kind, message = "error", f"{run.label}: its process ended with code {code}; what it said stands above"
    failure = RunFailure(variant=run.config.variant, seed=run.config.seed, kind=kind, message=message)
    folder = RunFolder(run.directory)
    if folder.config_file.is_file():
        folder.fail(failure)
    return RunError(kind, message)


class _Forwarding:
    """Inside the block SIGINT and SIGTERM go to the child, which saves and ends."""

    def __init__(self, child: "subprocess.Popen[str]") -> None:
        self.child = child
        self.before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self.before[number] = signal.signal(number, lambda received, _: self.child.send_signal(received))

    def __exit__(self, *_: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)
