"""A process that does one task of a run and ends with its parent: the child's side of tiedlm/run/process.

The first line of standard input says what to do. Talk goes to stderr; standard output gets one line of JSON that tells
how the task ended.
"""

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tiedlm.config.base import ConfigError
from tiedlm.errors import Interrupted, RunError, unexpected
from tiedlm.run.config import RunConfig
from tiedlm.run.layout import Run
from tiedlm.talk import SILENT, Talk
from tiedlm.time_left import RunsAhead

# The tasks import torch, so only once the parent is being watched.


def _run(
    run: Any,
    siblings: Any,
    cache_dir: str,
    fresh: bool,
    prefix: str,
    quiet: bool = False,
    ahead: Any = (),
    until: float | None = None,
) -> None:
    """Carry out a run, or the part `until` of it; its outcome lies in its folder."""
    talk = SILENT if quiet else Talk(prefix, ahead=RunsAhead(*ahead))
    this = _run_of(run)
    talk.now(f"{this.label}: loading torch")
    from tiedlm.run.execute import execute, execute_to
    from tiedlm.training.memory import keep_freed_memory

    keep_freed_memory()
    others = [_run_of(sibling) for sibling in siblings]
    if until is None:
        execute(this, cache_dir=Path(cache_dir), fresh=fresh, talk=talk, siblings=others)
    else:
        execute_to(this, until, cache_dir=Path(cache_dir), talk=talk, siblings=others)


def _run_of(described: Any) -> Run:
    return Run(RunConfig.model_validate(described["config"]), Path(described["runs_dir"]))


def _try_micro_batch(config: Any, size: int, vocab_size: int) -> None:
    """See whether a micro-batch fits into memory; raises RunError("out_of_memory") where it does not."""
    from tiedlm.run.micro_batch import try_two_steps
    from tiedlm.training.memory import is_out_of_memory

    try:
        try_two_steps(RunConfig.model_validate(config), size, vocab_size)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise RunError("out_of_memory", f"a micro-batch of {size} does not fit into memory") from error


def _measure_steps(config: Any, size: int, vocab_size: int, num_steps: int) -> Any:
    """The memory and the time of a few steps of training."""
    from tiedlm.run.probe import measure_here

    return measure_here(RunConfig.model_validate(config), size, vocab_size, num_steps).model_dump()


_TASKS: dict[str, Callable[..., Any]] = {
    "run": _run,
    "try_micro_batch": _try_micro_batch,
    "measure_steps": _measure_steps,
}


def main() -> int:
    """Do the task in the first line of standard input; 0 done, 1 failed, 2 a wrong request, 130 or 143 stopped."""
    if sys.stderr is None:  # closed by the parent: the work goes on
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    line = sys.stdin.readline()
    if not line.endswith("\n"):  # the parent was killed before it could say what to do
        return 1
    request = json.loads(line)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    code, document = _outcome_of(_TASKS[request.pop("task")], request)
    _print(document)
    return code


def _outcome_of(task: Callable[..., Any], arguments: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """The exit code and the document of a task, however it ends."""
    try:
        return 0, {"result": task(**arguments)}
    except Interrupted as error:
        return error.exit_code, {"kind": error.kind, "message": str(error), "signal": error.number}
    except KeyboardInterrupt:  # before it began to train, or a second one while it saved
        stopped = Interrupted(signal.SIGINT, "stopped at once; what was saved before is kept")
        return stopped.exit_code, {"kind": stopped.kind, "message": str(stopped), "signal": stopped.number}
    except RunError as error:
        return 1, {"kind": error.kind, "message": str(error), "step": error.step}
    except ConfigError as error:
        return 2, {"source": error.source, "problems": [asdict(problem) for problem in error.problems]}
    except Exception as error:  # noqa: BLE001 (a fault of the program: the parent says so, and shows where if asked to)
        return 1, {"kind": "unexpected", "message": unexpected(error), "trace": traceback.format_exc()}


def _print(document: dict[str, Any]) -> None:
    try:
        sys.stdout.write(json.dumps(document) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:  # the parent was killed; nor is there a place for the last flush of all
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end_with_parent() -> None:
    """Read until the parent closes its end, on purpose or by dying; then stop as on SIGTERM, with the state saved."""
    while os.read(sys.stdin.fileno(), 4096):  # not through a buffer, whose lock the end of the process would wait for
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
