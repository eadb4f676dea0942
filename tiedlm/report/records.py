"""Records: named things with the same labelled figures, however they come to be laid out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Row:
    """One label and its figure for each record; `depth` 1 is a part of the row above."""

    label: str
    cells: tuple[str, ...]
    depth: int = 0

    @classmethod
    def of(cls, label: str, cells: Iterable[str], depth: int = 0) -> "Row":
        """A row from any iterable of cells."""
        return cls(label, tuple(cells), depth)


@dataclass(frozen=True)
class Records:
    """`names` of the records, and `rows` with one cell for each of them.

    `across` says how a table shows them: each record a column (few records, many figures) or a line.
    """

    names: tuple[str, ...]
    rows: tuple[Row, ...]
    across: Literal["columns", "lines"] = "columns"
    title: str = ""

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Header and lines of the table, the labels indented by their depth."""
        labels = ["  " * row.depth + row.label for row in self.rows]
        if self.across == "columns":
            return ["", *self.names], [[label, *row.cells] for label, row in zip(labels, self.rows, strict=True)]
        return ["", *labels], [
            [name, *(row.cells[index] for row in self.rows)] for index, name in enumerate(self.names)
        ]
