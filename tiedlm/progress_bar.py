"""How far a task is, on as few lines of a terminal as hold it whole."""

import textwrap
import time
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

_BAR = 20
_SHORTEST_BAR = 8
_GAP = "  "


class Bar:
    """A label, a bar where there is room for one, the share done, the time left, and words on how it goes."""

    def __init__(self, label: str, total: float) -> None:
        self.label = label
        self.total = total
        self.done = 0.0
        self.words = ""
        self.began = time.monotonic()
        self.first: float | None = None

    def reach(self, done: float, words: str) -> None:
        """Say how far the task is; one that goes on begins where it was left: that part was not done just now."""
        if self.first is None:
            self.first, self.began = done, time.monotonic()
        self.done, self.words = done, words

    def time_left(self) -> str:
        """ "03:25" at the speed since the beginning, "--:--" before there is one."""
        achieved = self.done - (self.first or 0)
        if achieved <= 0:
            return "--:--"
        seconds = round((time.monotonic() - self.began) / achieved * max(self.total - self.done, 0))
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        share = f"{100 * self.done / self.total if self.total else 100:3.0f}%"
        end = [share, f"{self.time_left()} left", *filter(None, self.words.split(_GAP))]
        line = _GAP.join([self.label, *end])
        room = options.max_width - cell_len(line) - len(_GAP)
        if room < _SHORTEST_BAR:
            yield from map(Text, _packed([self.label, *end], options.max_width))
            return
        width = min(_BAR, room)
        table = Table.grid(padding=(0, len(_GAP), 0, 0), pad_edge=False)
        bar = ProgressBar(total=max(self.total, 1e-9), completed=self.done, width=width)
        table.add_row(Text(self.label), bar, Text(_GAP.join(end)))
        yield table


def _packed(pieces: list[str], width: int) -> Iterator[str]:
    """As many pieces on a line as fit; only one longer than a whole line is broken, between words where it can be."""
    line = ""
    for piece in (part for whole in pieces for part in textwrap.wrap(whole, width)):
        longer = f"{line}{_GAP}{piece}" if line else piece
        if line and cell_len(longer) > width:
            yield line
            longer = piece
        line = longer
    yield line
