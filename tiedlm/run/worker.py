"""The process of one run: told what to do on standard input, and ending when that closes, with its parent.

Talk goes to stderr; standard output gets one line of JSON where the run did not end well.
"""

import json
import os
import signal
import sys
import threading
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tiedlm.config.base import ConfigError
from tiedlm.errors import Interrupted, RunError, unexpected
from tiedlm.run.config import RunConfig
from tiedlm.run.layout import Run
from tiedlm.talk import Talk


def main() -> int:
    """Carry out the run described by the first line of standard input; 0 done, 1 failed, 2 wrong, 130/143 stopped."""
    if sys.stderr is None:  # closed by whoever started us: the work goes on
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    line = sys.stdin.readline()
    if not line.endswith("\n"):  # whoever started us was killed before it could say what for
        return 1
    request = json.loads(line)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        from tiedlm.run.execute import execute  # imports torch, so only once the parent is being watched
        from tiedlm.training.memory import keep_freed_memory

        keep_freed_memory()
        execute(
            _run(request["run"]),
            cache_dir=Path(request["cache_dir"]),
            fresh=request["fresh"],
            talk=Talk(request["prefix"]),
            siblings=[_run(sibling) for sibling in request["siblings"]],
        )
    except Interrupted as error:
        _report({"kind": error.kind, "message": str(error), "signal": error.number})
        return error.exit_code
    except KeyboardInterrupt:  # before it began to train, or a second one while it saved
        stopped = Interrupted(signal.SIGINT, "stopped at once; what was saved before is kept")
        _report({"kind": stopped.kind, "message": str(stopped), "signal": stopped.number})
        return stopped.exit_code
    except RunError as error:
        _report({"kind": error.kind, "message": str(error), "step": error.step})
        return 1
    except ConfigError as error:
        _report({"source": error.source, "problems": [asdict(problem) for problem in error.problems]})
        return 2
    except Exception as error:  # noqa: BLE001 (a fault of the program: who asked says so, and shows where if asked to)
        _report({"kind": "unexpected", "message": unexpected(error), "trace": traceback.format_exc()})
        return 1
    return 0


def _run(request: dict[str, Any]) -> Run:
    return Run(RunConfig.model_validate(request["config"]), Path(request["directory"]))


def _report(outcome: dict[str, Any]) -> None:
    try:
        sys.stdout.write(json.dumps(outcome) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:  # whoever asked was killed; nor is there a place for the last flush of all
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _end_with_parent() -> None:
    """Read until the parent closes its end, on purpose or by dying; then stop as on SIGTERM, with the state saved."""
    while os.read(sys.stdin.fileno(), 4096):  # not through a buffer, whose lock the end of the process would wait for
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
