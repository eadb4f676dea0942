"""An interval chart in letters, for a terminal."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len

from tiedlm.report.charts.chart import Estimate, IntervalChart, Mark
from tiedlm.report.charts.scale import Scale, decimals_for
from tiedlm.report.charts.svg_intervals import held_values
from tiedlm.report.figures.text import one_line, wrapped

_VERDICTS: dict[Mark, str] = {"left": "better", "right": "worse", "square": "equal", "ring": "cannot tell"}
_MAX_NAME = 24
_MIN_PLOT = 24


@dataclass(frozen=True)
class _Letters:
    """What a chart is drawn with."""

    marks: dict[Mark, str]
    bar: str
    far: str
    zero: str
    ends: tuple[str, str]
    left_arrow: str
    right_arrow: str


_UNICODE = _Letters(
    {
        "dot": "●",
        "ring": "○",
        "square": "■",
        "left": "◀",
        "right": "▶",
        "up": "▲",
        "down": "▼",
        "diamond": "◆",
    },
    "─",
    "┄",
    "│",
    ("├", "┤"),
    "←",
    "→",
)
_ASCII = _Letters(
    {
        "dot": "*",
        "ring": "o",
        "square": "=",
        "left": "<",
        "right": ">",
        "up": "^",
        "down": "v",
        "diamond": "#",
    },
    "-",
    ".",
    "|",
    ("|", "|"),
    "<-",
    "->",
)


def text_chart(chart: IntervalChart, width: int, is_ascii: bool) -> Iterator[str]:
    """The lines of the chart: each estimate by its name; a name too long for its column stands on lines above."""
    letters = _ASCII if is_ascii else _UNICODE
    longest = max((cell_len(one_line(each.name)) for each in chart.estimates), default=0)
    names = min(longest, _MAX_NAME, max(width - _MIN_PLOT - 1, 1))
    plot = max(width - names - 1, _MIN_PLOT)
    x = Scale.over(held_values(chart), 0, plot - 1, margin=0.02)
    below, above = f"{letters.left_arrow} {one_line(chart.below)}", f"{one_line(chart.above)} {letters.right_arrow}"
    yield from _sides(below, above, names + 1 + round(x(0)), width)
    group = ""
    for estimate in chart.estimates:
        if estimate.group != group:
            group = estimate.group
            yield from _words(group, width)
        name, row = one_line(estimate.name), _row(estimate, x, plot, letters)
        if cell_len(name) > names:
            yield from _words(name, width)
            name = ""
        yield f"{name}{' ' * (names - cell_len(name))} {row}".rstrip()
    yield (" " * (names + 1) + _axis(x, plot)).rstrip()


def _words(text: str, width: int) -> Iterator[str]:
    return (line.replace("\xa0", " ") for line in wrapped(text, width))


def text_legend(is_ascii: bool, has_diamond: bool) -> str:
    """What the letters of a chart of verdicts stand for."""
    letters = _ASCII if is_ascii else _UNICODE
    verdicts = ", ".join(f"{letters.marks[mark]} {word}" for mark, word in _VERDICTS.items())
    interval = f"{letters.ends[0]}{letters.bar}{letters.ends[1]} 95 % interval over seeds"
    if not has_diamond:
        return f"{verdicts}; {interval}."
    far = f"{letters.ends[0]}{letters.far}{letters.ends[1]} the same seeds under one more recipe (95 % prediction)"
    return f"{verdicts}; {interval}; {letters.marks['diamond']} mean across recipes, with its own; {far}."


def _row(estimate: Estimate, x: Scale, plot: int, letters: _Letters) -> str:
    """One line of the plot, the last drawn on top."""
    cells = [" "] * plot
    cells[round(x(0))] = letters.zero
    for ends, bar in ((estimate.whiskers, letters.far), (estimate.interval, letters.bar)):
        if ends:
            low, high = round(x(ends[0])), round(x(ends[1]))
            cells[low : high + 1] = bar * (high - low + 1)
            cells[low], cells[high] = letters.ends
    if estimate.middle is not None:
        cells[round(x(estimate.middle))] = letters.marks[estimate.mark]
    return "".join(cells).rstrip()


def _sides(below: str, above: str, zero: int, width: int) -> Iterator[str]:
    """What the two sides of 0 mean, beside the zero line where both have room there, else at both edges."""
    if len(below) + 1 <= zero and zero + 2 + len(above) <= width:
        yield f"{' ' * (zero - len(below) - 1)}{below}   {above}"
    elif len(below) + 3 + len(above) <= width:
        yield f"{below}{' ' * (width - len(below) - len(above))}{above}"
    else:
        yield below
        yield " " * max(width - len(above), 0) + above


def _axis(x: Scale, plot: int) -> str:
    """The values of round ticks, each where it stands as far as there is room."""
    ticks = x.ticks(max(2, plot // 14))
    decimals = decimals_for(ticks)
    line = ""
    for tick in ticks:
        word = f"{tick:+.{decimals}f}" if tick else "0"
        start = max(round(x(tick)) - len(word) // 2, 0)
        if start + len(word) <= plot and (not line or start > len(line)):
            line = line.ljust(start) + word
    return line
