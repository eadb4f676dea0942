"""How far a task is, on as few lines of a terminal as hold it whole."""

import textwrap
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tiedlm.time_left import Pace, RunsAhead, left_in_words

_BAR = 20
_SHORTEST_BAR = 8
_GAP = "  "


class Bar:
    """A label, a bar where there is room for one, the share done, the time left, and words on how it goes.

    The words stand on a second line where one does not hold both.
    """

    def __init__(self, label: str, pace: Pace, ahead: RunsAhead | None = None) -> None:
        self.label = label
        self.pace = pace
        self.ahead = ahead or RunsAhead()
        self.words = ""

    def reach(self, done: float, words: str) -> None:
        """Say how far the task is, and how it goes."""
        self.pace.reach(done)
        self.words = words

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, words = options.max_width, list(filter(None, self.words.split(_GAP)))
        end = [f"{100 * self.pace.share:3.0f}%", left_in_words(self.pace, self.ahead)]
        for beside, below in (([*end, *words], []), (end, words)):
            room = width - cell_len(_GAP.join([self.label, *beside])) - len(_GAP)
            if room >= _SHORTEST_BAR:
                yield self._line(min(_BAR, room), _GAP.join(beside))
                yield from map(Text, _packed(below, width))
                return
        yield from map(Text, _packed([self.label, *end], width))
        yield from map(Text, _packed(words, width))

    def _line(self, width: int, end: str) -> Table:
        table = Table.grid(padding=(0, len(_GAP), 0, 0), pad_edge=False)
        total = max(self.pace.total, 1e-9)
        table.add_row(Text(self.label), ProgressBar(total=total, completed=self.pace.done, width=width), Text(end))
        return table


def _packed(pieces: list[str], width: int) -> Iterator[str]:
    """As many pieces on a line as fit; only one longer than a whole line is broken, between words where it can be."""
    line = ""
    for piece in (part for whole in pieces for part in textwrap.wrap(whole, width)):
        longer = f"{line}{_GAP}{piece}" if line else piece
        if line and cell_len(longer) > width:
            yield line
            longer = piece
        line = longer
    if line:
        yield line
