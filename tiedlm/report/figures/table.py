"""Records: named things with the same labelled figures, however they come to be laid out."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class Row:
    """One label and its figure for each record; `depth` 1 is a part of the row above.

    `brief` is what stands in its place where there is less room: a shorter label, or one thing a row.
    """

    label: str
    cells: tuple[str, ...]
    depth: int = 0
    brief: tuple["Row", ...] = ()

    @classmethod
    def of(cls, label: str, cells: Iterable[str], depth: int = 0, brief: Iterable["Row"] = ()) -> "Row":
        """A row from any iterable of cells."""
        return cls(label, tuple(cells), depth, tuple(brief))

    def part(self, start: int, stop: int) -> "Row":
        """The row of some of the records."""
        return Row(self.label, self.cells[start:stop], self.depth, tuple(row.part(start, stop) for row in self.brief))


@dataclass(frozen=True)
class Records:
    """`names` of the records, and `rows` with one cell for each of them.

    `across` says how a table shows them: each record a column (few records, many figures) or a line.
    """

    names: tuple[str, ...]
    rows: tuple[Row, ...]
    across: Literal["columns", "lines"] = "columns"
    title: str = ""

    def in_brief(self) -> "Records":
        """With each row as it is where there is less room."""
        return replace(self, rows=tuple(brief for row in self.rows for brief in (row.brief or (row,))))

    @property
    def num_columns(self) -> int:
        """Columns of a table, besides that of the labels."""
        return len(self.names if self.across == "columns" else self.rows)

    def in_parts(self, count: int) -> list["Records"]:
        """Tables with some of the columns each, as even as can be, the wider ones first."""
        size, wider = divmod(self.num_columns, count)
        ends = itertools.accumulate((size + (number < wider) for number in range(count)), initial=0)
        return [self._columns(start, stop) for start, stop in itertools.pairwise(ends)]

    def _columns(self, start: int, stop: int) -> "Records":
        if self.across == "lines":
            return replace(self, rows=self.rows[start:stop])
        return replace(self, names=self.names[start:stop], rows=tuple(row.part(start, stop) for row in self.rows))

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Header and lines of the table, the labels indented by their depth."""
        labels = ["  " * row.depth + row.label for row in self.rows]
        if self.across == "columns":
            return ["", *self.names], [[label, *row.cells] for label, row in zip(labels, self.rows, strict=True)]
        return ["", *labels], [
            [name, *(row.cells[index] for row in self.rows)] for index, name in enumerate(self.names)
        ]
