"""Where tables go: imported once there is one to show."""

import os

from rich.console import Console


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to `main`: rich would end the process here, with the exit code of a failed run."""
        raise  # while the BrokenPipeError is being handled


def console() -> Console:
    """Nothing that is printed there is markup."""
    asked = os.environ.get("COLUMNS", "")
    width = 80 if asked.isdigit() and int(asked) < 1 else None  # a width of nothing is none
    return _Console(markup=False, emoji=False, highlight=False, width=width)
