"""What stops a run for a reason outside the request."""

import signal

OUTSIDE = ("offline", "busy", "disk")
"""Kinds that say nothing of the run itself: the next one would meet them too."""


class RunError(Exception):
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
