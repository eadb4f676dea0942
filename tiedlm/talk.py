"""What a user is told while things run: on stderr, a live bar in a terminal, few plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Update = Callable[[float, str], None]
"""Called with what is done so far, in the unit of `total`, and a few words on how it goes."""

_LINES = 10
"""A piped task writes at most this many lines of progress."""


class Talk:
    """Says things on stderr, each line after `prefix`; in a pipe, a task is silent for `patience` seconds at a time."""

    def __init__(self, prefix: str = "", patience: float = 5.0) -> None:
        self.prefix = prefix
        self.patience = patience

    def say(self, text: str) -> None:
        """One line; whoever listened may be gone (a closed pipe or terminal), which is no reason to stop the work."""
        with suppress(OSError):
            sys.stderr.write(f"{self.prefix}{text}\n")
            sys.stderr.flush()

    @contextmanager
    def progress(self, label: str, total: float) -> Iterator[Update]:
        """Show how far a task is: call the yielded function with (done, words)."""
        if sys.stderr.isatty():
            with _bar(self.prefix + label, total) as update:
                yield update
        else:
            yield self._lines(label, total)

    def _lines(self, label: str, total: float) -> Update:
        began = spoke = time.monotonic()
        said, first = 0, -1.0

        def update(done: float, words: str) -> None:
            nonlocal said, spoke, first
            share, now = done / total if total else 1.0, time.monotonic()
            if first < 0:  # a task that goes on begins where it was left
                first = share
            tenths = int(_LINES * share)
            if tenths > said and now - spoke >= self.patience:
                said, spoke = tenths, now
                left = (now - began) * (1 - share) / (share - first) if share > first else 0.0
                self.say(f"{label}  {100 * share:3.0f}%  {words}  {now - began:.0f} s, {left:.0f} s left")

        return update


class Silence(Talk):
    """Says nothing."""

    def say(self, text: str) -> None:
        """Keep it."""

    @contextmanager
    def progress(self, label: str, total: float) -> Iterator[Update]:
        """Show nothing."""
        yield lambda done, words: None


SILENT = Silence()


@contextmanager
def _bar(label: str, total: float) -> Iterator[Update]:
    from rich.console import Console
    from rich.live import Live

    from tiedlm.progress_bar import Bar

    bar = Bar(label, total)
    with Live(bar, console=Console(stderr=True), transient=True, refresh_per_second=10) as live:

        def update(done: float, words: str) -> None:
            bar.reach(done, words)
            live.update(bar)

        yield update
