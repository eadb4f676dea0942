"""Where tables go: imported once there is one to show."""

import os

from rich.console import Console


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to `main`: rich would end the process here, with the exit code of a failed run."""
        raise  # while the BrokenPipeError is being handled


def console() -> Console:
    """Nothing that is printed there is markup."""
    columns = os.environ.get("COLUMNS", "")
    width = 80 if columns.isdigit() and int(columns) < 1 else None  # COLUMNS=0 is no width
    return _Console(markup=False, emoji=False, highlight=False, width=width)
