"""A table as data, for every format to lay out: named things (variants, runs) with the same labelled figures."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class Row:
    """One label with a cell for each name of the table; `depth` 1 is a part of the row above.

    `brief` stands in its place in narrow tables: a row with a shorter label, or several rows with shorter cells.
    """

    label: str
    cells: tuple[str, ...]
    depth: int = 0
    brief: tuple["Row", ...] = ()

    @classmethod
    def of(cls, label: str, cells: Iterable[str], depth: int = 0, brief: Iterable["Row"] = ()) -> "Row":
        """A row from any iterable of cells."""
        return cls(label, tuple(cells), depth, tuple(brief))

    def cells_between(self, start: int, stop: int) -> "Row":
        """The row with only the cells from `start` up to `stop`."""
        brief = tuple(row.cells_between(start, stop) for row in self.brief)
        return Row(self.label, self.cells[start:stop], self.depth, brief)


@dataclass(frozen=True)
class Table:
    """`names` of variants or runs, and `rows` with one cell for each of them.

    `names_as` says how they are shown: each name a column (few names, many figures), or each name a line, with a
    column for each row.
    """

    names: tuple[str, ...]
    rows: tuple[Row, ...]
    names_as: Literal["columns", "lines"] = "columns"
    title: str = ""

    def in_brief(self) -> "Table":
        """With the brief rows in place of those that have some."""
        return replace(self, rows=tuple(brief for row in self.rows for brief in (row.brief or (row,))))

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
            return ["", *self.names], [[label, *row.cells] for label, row in zip(labels, self.rows, strict=True)]
        return ["", *labels], [
            [name, *(row.cells[index] for row in self.rows)] for index, name in enumerate(self.names)
        ]
