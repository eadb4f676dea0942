"""A table as data, for every format to lay out: named things (variants, runs) with the same labelled figures."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

NOTHING = "–"
_MAX_NAMES = 4


@dataclass(frozen=True)
class Absence:
    """A figure that is not there: `short` stands in its cell, and beside the table what is missing and its `reason`.

    No sentence is needed where `short` is the reason itself.
    """

    reason: str
    short: str = NOTHING
    what: str = "none"

    def __str__(self) -> str:
        return self.short


Shown = str | Absence
"""What a cell shows: a figure, or that it is absent and why."""


@dataclass(frozen=True)
class Row:
    """One label with a cell for each name of the table; `depth` 1 is a part of the row above.

    `brief` stands in its place in narrow tables: a row with a shorter label, or several rows with shorter cells.
    `absences` holds those of its cells that show no figure, or not all of it, by their place.
    """

    label: str
    cells: tuple[str, ...]
    depth: int = 0
    brief: tuple["Row", ...] = ()
    absences: Mapping[int, Absence] = field(default_factory=dict)

    @classmethod
    def of(cls, label: str, cells: Iterable[Shown], depth: int = 0, brief: Iterable["Row"] = ()) -> "Row":
        """A row from any iterable of cells."""
        shown = tuple(cells)
        absences = {place: cell for place, cell in enumerate(shown) if isinstance(cell, Absence)}
        return cls(label, tuple(map(str, shown)), depth, tuple(brief), absences)

    def cells_between(self, start: int, stop: int) -> "Row":
        """The row with only the cells from `start` up to `stop`."""
        brief = tuple(row.cells_between(start, stop) for row in self.brief)
        absences = {place - start: each for place, each in self.absences.items() if start <= place < stop}
        return Row(self.label, self.cells[start:stop], self.depth, brief, absences)


@dataclass(frozen=True)
class Table:
    """`names` of variants or runs, and `rows` with one cell for each of them.

    `names_as` says how they are shown: each name a column (few names, many figures), or each name a line, with a
    column for each row. `corner` says what the names of the lines are.
    """

    names: tuple[str, ...]
    rows: tuple[Row, ...]
    names_as: Literal["columns", "lines"] = "columns"
    title: str = ""
    corner: str = ""

    def in_brief(self) -> "Table":
        """With the brief rows in place of those that have some."""
        return replace(self, rows=tuple(brief for row in self.rows for brief in (row.brief or (row,))))

    def reasons(self) -> Iterator[str]:
        """A sentence for each reason of what is absent, with the figures and the names that have it."""
        places: dict[tuple[str, str], dict[tuple[str, ...], list[str]]] = {}
        parent, labels = "", [row.label for row in self.rows]
        for row in self.rows:
            parent = row.label if not row.depth else parent
            label = row.label if labels.count(row.label) == 1 else f"{parent}, {row.label}"
            names_of: dict[tuple[str, str], list[str]] = {}
            for place, absence in row.absences.items():
                if absence.reason != absence.short:
                    names_of.setdefault((absence.what, absence.reason), []).append(self.names[place])
            for said, names in names_of.items():
                which = () if len(names) == len(self.names) else tuple(names)
                places.setdefault(said, {}).setdefault(which, []).append(label)
        for (what, reason), found in places.items():
            of = "; ".join(
                f"{', '.join(labels)}{f' ({_listed(names)})' if names else ''}" for names, labels in found.items()
            )
            yield f"{of}: {what}, {reason}."

    @property
    def num_columns(self) -> int:
        """Columns beside that of the labels."""
        return len(self.names if self.names_as == "columns" else self.rows)

    def split(self, count: int) -> list["Table"]:
        """`count` tables with some of the columns each, as even as can be, the wider ones first."""
        size, wider = divmod(self.num_columns, count)
        ends = itertools.accumulate((size + (number < wider) for number in range(count)), initial=0)
        return [self._columns_between(start, stop) for start, stop in itertools.pairwise(ends)]

    def _columns_between(self, start: int, stop: int) -> "Table":
        if self.names_as == "lines":
            return replace(self, rows=self.rows[start:stop])
        rows = tuple(row.cells_between(start, stop) for row in self.rows)
        return replace(self, names=self.names[start:stop], rows=rows)

    def header_and_lines(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The texts of the header and of each line, the labels indented by their depth."""
        labels = ["  " * row.depth + row.label for row in self.rows]
        if self.names_as == "columns":
            return [self.corner, *self.names], [
                [label, *row.cells] for label, row in zip(labels, self.rows, strict=True)
            ]
        return [self.corner, *labels], [
            [name, *(row.cells[index] for row in self.rows)] for index, name in enumerate(self.names)
        ]


def _listed(names: Sequence[str]) -> str:
    """A few names, and how many more."""
    more = f"; {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return "; ".join(names[:_MAX_NAMES]) + more
