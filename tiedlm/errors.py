"""What stops a run for a reason outside the request."""


class RunError(Exception):
    """A run could not start or go on (exit 1).

    `kind` is a short word: offline, out_of_memory, diverged, disk, busy, corrupt, interrupted.
    """

    def __init__(self, kind: str, message: str, step: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.step = step
