"""What stops a command: a request that is wrong, or a reason outside the request. Imports nothing that takes time."""

import signal
from dataclasses import dataclass

OUTSIDE = ("offline", "busy", "disk")
"""Kinds that say nothing of the run itself: the next one would meet them too."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a request: its dotted key ("" where there is none) and what to do about it."""

    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.key}: {self.message}" if self.key else self.message


class TiedlmError(Exception):
    """Whatever stops what was asked for: a wrong request, a run that failed, an interruption."""


class ConfigError(TiedlmError, ValueError):
    """The request was wrong (exit 2): everything that is wrong with it, one `Problem` each."""

    def __init__(self, *problems: Problem, source: str = "") -> None:
        self.problems = problems
        self.source = source
        prefix = f"{source}: " if source else ""
        super().__init__("\n".join(f"{prefix}{problem}" for problem in problems))


class RunError(TiedlmError):
    """A run could not start or go on (exit 1).

    `kind` is a short word: offline, out_of_memory, diverged, disk, busy, corrupt, interrupted.
    """

    def __init__(self, kind: str, message: str, step: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.step = step


class Interrupted(RunError):  # noqa: N818 (a stop on request is no error)
    """Stopped by SIGINT or SIGTERM with the state saved; a shell's exit code for it is 128 + the signal's number."""

    def __init__(self, number: signal.Signals, message: str) -> None:
        super().__init__("interrupted", message)
        self.number = number
        self.exit_code = 128 + number


def unexpected(error: Exception) -> str:
    """What is said in a line of a fault of the program."""
    return f"unexpected error, {type(error).__name__}: {error}".splitlines()[0] + " (--debug shows the traceback)"
