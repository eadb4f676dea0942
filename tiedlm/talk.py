"""What a user is told while things run: on stderr, a live bar in a terminal, few plain lines elsewhere."""

import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from tiedlm.time_left import Clock, Pace, RunsAhead, in_words, left_in_words

Update = Callable[[float, str], None]
"""Called with what is done so far, in the unit of `total`, and a few words on how it goes."""

_TENTHS = 10
"""A piped task of less than ten minutes writes at most this many lines of progress."""
_LONGEST_SILENCE = 60.0
"""Seconds after which a piped task that gets on says how far it is, however little that is."""
_CLEAR = "\r\x1b[K"
_SHOW_CURSOR = "\x1b[?25h"


class Talk:
    """Says things on stderr, each line after `prefix`. In a pipe, progress is a line a tenth or a minute, whichever
    comes first, and never two within `patience` seconds. `ahead`: the runs after this one, for the time left.
    """

    def __init__(
        self,
        prefix: str = "",
        patience: float = 5.0,
        ahead: RunsAhead | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self.prefix, self.patience, self.clock = prefix, patience, clock
        self.ahead = ahead or RunsAhead(clock=clock)
        self._spoke = clock()
        self._has_bar = False

    def say(self, text: str) -> None:
        """One line; whoever listened may be gone (a closed pipe or terminal), which is no reason to stop the work."""
        self._spoke = self.clock()
        self._write(f"{_clear()}{self.prefix}{text}\n")

    def say_wrapped(self, text: str) -> None:
        """A sentence: in a terminal on as many lines as it takes, broken between words; one line elsewhere."""
        if not sys.stderr.isatty():
            self.say(text)
            return
        indent = " " * len(self.prefix)
        lines = textwrap.wrap(self.prefix + text, _width() - 1, subsequent_indent=indent)
        self._spoke = self.clock()
        self._write(_clear() + "".join(f"{line}\n" for line in lines))

    def now(self, text: str) -> None:
        """What is being done, where nothing can be counted, or what has just become known.

        In a terminal it stands until something else is said, and nowhere while a bar is shown; in a pipe it is a line,
        unless something was said within `patience`.
        """
        if not sys.stderr.isatty():
            if self.clock() - self._spoke >= self.patience:
                self.say(text)
        elif not self._has_bar and _clear():
            line = f"{self.prefix}{text} ..."
            self._write(_clear() + line[: _width() - 1])

    def clear(self) -> None:
        """Take away what `now` said, in a terminal; also what a process that was killed left there."""
        if _clear():
            self._write(_clear() + _SHOW_CURSOR)

    @contextmanager
    def progress(self, label: str, total: float) -> Iterator[Update]:
        """Show how far a task is: call the yielded function with (done, words)."""
        if not sys.stderr.isatty():
            yield self._lines(label, total)
            return
        self._write(_clear())
        self._has_bar = True
        try:
            with self._bar(label, total) as update:
                yield update
        finally:
            self._has_bar = False

    def _lines(self, label: str, total: float) -> Update:
        pace, said = Pace(total, self.clock), 0

        def update(done: float, words: str) -> None:
            nonlocal said
            pace.reach(done)
            tenths, silent = int(_TENTHS * pace.share), self.clock() - self._spoke
            if silent >= self.patience and (tenths > said or silent >= _LONGEST_SILENCE):
                said = tenths
                times = f"{in_words(pace.elapsed)} gone, {left_in_words(pace, self.ahead)}"
                self.say("  ".join(filter(None, [label, f"{100 * pace.share:3.0f}%", words, times])))

        return update

    @contextmanager
    def _bar(self, label: str, total: float) -> Iterator[Update]:
        from rich.console import Console
        from rich.live import Live

        from tiedlm.progress_bar import Bar

        bar = Bar(self.prefix + label, Pace(total, self.clock), self.ahead)
        with Live(bar, console=Console(stderr=True), transient=True, refresh_per_second=10) as live:

            def update(done: float, words: str) -> None:
                bar.reach(done, words)
                live.update(bar)

            yield update

    def _write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


class Silence(Talk):
    """Says nothing."""

    def say(self, text: str) -> None:
        """Keep it."""

    def now(self, text: str) -> None:
        """Keep it."""

    def clear(self) -> None:
        """Nothing stands there."""

    @contextmanager
    def progress(self, label: str, total: float) -> Iterator[Update]:
        """Show nothing."""
        yield lambda done, words: None


SILENT = Silence()


def _clear() -> str:
    """What takes the line back that `now` of this or another process wrote; "" where nothing can be taken back."""
    can_clear = sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")
    return _CLEAR if can_clear else ""


def _width() -> int:
    """Columns of the terminal, 80 where it does not say."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    with suppress(OSError, ValueError, AttributeError):
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    return 80
