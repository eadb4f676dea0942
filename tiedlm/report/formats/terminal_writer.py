"""A terminal page: prose wrapped at words, tables as wide as fits and blocks where none does, ASCII where needed.

Nothing is ever cut, no text is taken for markup, and no character of a name can steer the terminal.
"""

import math
import textwrap
from collections.abc import Iterable

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tiedlm.report.figures.table import Records
from tiedlm.report.figures.text import glued, one_line

_PROSE_WIDTH = 100
_ASCII = str.maketrans({"±": "+/-", "–": "-", "—": "-", "−": "-", "×": "x", "…": "...", "·": "*", "\xa0": " "})


class Page:
    """Writes to a rich console."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.is_ascii = console.options.ascii_only

    def clean(self, text: str) -> str:
        """`text` on one line, without control characters, in ASCII where the output is not UTF-8."""
        text = one_line(text)
        return text.translate(_ASCII).encode("ascii", "backslashreplace").decode() if self.is_ascii else text

    def blank(self) -> None:
        """An empty line."""
        self.console.print()

    def item(self, text: str, style: str = "") -> None:
        """One of a list: what is wrapped stands below its first word, not below its mark."""
        self.prose(f"- {text}", style, hang=2)

    def prose(self, text: str, style: str = "", indent: int = 0, hang: int = 0) -> None:
        """A paragraph, wrapped between words only: a number and its unit stay together.

        `hang` is how much further in than the first line the others begin.
        """
        width = max(min(self.console.width, _PROSE_WIDTH) - indent, 10)
        wrap = textwrap.TextWrapper(
            width, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False
        ).wrap
        for line in wrap(glued(self.clean(text))):
            self._line(" " * indent + line.replace("\xa0", " "), style)

    def _line(self, text: str, style: str = "") -> None:
        self.console.print(Text(text, style=style), soft_wrap=True, highlight=False)

    def records(self, records: Records) -> None:
        """A table if it fits the width, else several with some of its columns each, else a block for each record."""
        if records.title:
            self.prose(records.title, "bold")
        tables = self._tables(records)
        for index, table in enumerate(tables):
            if index:
                self.blank()
            self.console.print(table)
        if tables:
            return
        for index, name in enumerate(records.names):
            if index:
                self.blank()
            self._block(name, ((row.label, row.cells[index], row.depth) for row in records.rows))

    def _tables(self, records: Records) -> list[Table]:
        """As few as fit the width, in brief rather than one more; none where not even two columns fit side by side."""
        for count in range(1, math.ceil(records.num_columns / 2) + 1):
            for written in (records, records.in_brief()):
                tables = [self._table(part) for part in written.in_parts(count)]
                if all(map(self._fits, tables)):
                    return tables
        return []

    def _fits(self, table: Table) -> bool:
        room = self.console.options.update(width=10_000)
        return self.console.measure(table, options=room).maximum <= self.console.width

    def _table(self, records: Records) -> Table:
        header, lines = records.table()
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
        for index, title in enumerate(header):
            table.add_column(self._cell(title), justify="right" if index else "left", no_wrap=True)
        for line in lines:
            table.add_row(*(self._cell(cell) for cell in line))
        return table

    def _cell(self, text: str) -> Text:
        return Text(self.clean(text))

    def _block(self, name: str, pairs: Iterable[tuple[str, str, int]]) -> None:
        """The name, then keys on the left and values on the right; a value without room stands below its key."""
        lines = [("  " * (depth + 1) + self.clean(label), self.clean(value)) for label, value, depth in pairs]
        longest = max(cell_len(key) for key, _ in lines) + max(cell_len(value) for _, value in lines) + 2
        width = min(self.console.width, longest)
        self.prose(name, "bold")
        for key, value in lines:
            gap = width - cell_len(key) - cell_len(value)
            if gap >= 2:
                self._line(f"{key}{' ' * gap}{value}")
                continue
            self._line(key)
            if cell_len(value) <= width:
                self._line(" " * (width - cell_len(value)) + value)
            else:
                self.prose(value, indent=6)
