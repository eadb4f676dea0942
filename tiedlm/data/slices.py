"""Slices of a data set's splits, as `datasets` writes them (`train[:90%]`, `train[10:20]`, `train+test`)."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from tiedlm.config.base import ConfigError, Problem
from tiedlm.config.problems import shown
from tiedlm.data.config import SPLITS, Split

_SLICE = re.compile(
    r"(?P<name>\w+(\.\w+)*)"
    r"(?P<slice>\[((?P<begin>-?[\d_]+)(?P<begin_percent>%)?)?:((?P<end>-?[\d_]+)(?P<end_percent>%)?)?\])?"
    r"(\([^)]*\))?"  # how percents are rounded: in the same way at every border
)
Span = tuple[float, float]


@dataclass(frozen=True)
class Slice:
    """Rows `begin` to `end` of a split, negative ones counted from its end; with `percent` not rows but percents."""

    name: str
    begin: int | None
    end: int | None
    percent: bool = False

    def overlaps(self, other: "Slice") -> bool:
        """Whether two slices share rows; False also where only the number of rows could tell."""
        if self.name != other.name:
            return False
        for length, percent in ((100.0, True), (math.inf, False)):
            one, two = self._span(length, percent), other._span(length, percent)
            if one is not None and two is not None:
                return max(one[0], two[0]) < min(one[1], two[1])
        return False

    def _span(self, length: float, percent: bool) -> Span | None:
        """Begin and end in percents, or in rows of an unknown (infinite) number; None where that cannot say it."""
        is_whole = self.begin is None and self.end is None
        if self.percent != percent and not is_whole:
            return None
        begin, end = self.begin or 0, length if self.end is None else self.end
        if min(begin, end) < 0 and not percent:
            return None
        return (max(begin + length, 0) if begin < 0 else begin), (max(end + length, 0) if end < 0 else end)


def parse_slices(text: str, key: str) -> list[Slice]:
    """The slices that `text` adds up; raises ConfigError where it is not written as `datasets` reads it."""
    return [_slice(part, text, key) for part in re.split(r"\s*\+\s*", text)]


def _slice(part: str, text: str, key: str) -> Slice:
    found = _SLICE.fullmatch(part)
    try:
        begin, end = (int(found[side]) if found and found[side] else None for side in ("begin", "end"))
    except ValueError:  # of underscores alone
        found = None
    if found is None:
        message = f"{shown(text)}: must be a split or slices of splits: train, train[:90%], train[100:200], train+test"
        raise ConfigError(Problem(key, message))
    return Slice(found["name"], begin, end, bool(found["begin_percent"] or found["end_percent"]))


def refuse_overlapping(written: Mapping[Split, str], slices: Mapping[Split, Sequence[Slice]]) -> None:
    """Raise ConfigError with both keys where slices of two splits share rows; `written`: as the config has them."""
    for one, other in combinations(SPLITS, 2):
        if any(mine.overlaps(theirs) for mine, theirs in product(slices[one], slices[other])):
            message = (
                f"{shown(written[other])} has rows that data.corpus.{one} ({shown(written[one])}) has too; splits must "
                "not overlap: train[:90%], train[90%:95%] and train[95%:] do not"
            )
            raise ConfigError(Problem(f"data.corpus.{other}", message))
