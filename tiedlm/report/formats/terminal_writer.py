"""Writes text and tables to a terminal: wrapped between words, tables as wide as fits, ASCII where needed.

Nothing is ever cut off, no text is taken for markup, and no character of a name can steer the terminal.
"""

import math
import textwrap
from collections.abc import Iterable

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from tiedlm.report.figures.table import Table
from tiedlm.report.figures.text import one_line, with_unbreakable_figures

_MAX_TEXT_WIDTH = 100
_ASCII = str.maketrans({"±": "+/-", "–": "-", "—": "-", "−": "-", "×": "x", "…": "...", "·": "*", "\xa0": " "})


class TerminalWriter:
    """Writes to a rich console, at its width and in its encoding."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.is_ascii = console.options.ascii_only

    def clean(self, text: str) -> str:
        """`text` on one line, without control characters, in ASCII where the output is not UTF-8."""
        text = one_line(text)
        return text.translate(_ASCII).encode("ascii", "backslashreplace").decode() if self.is_ascii else text

    def blank_line(self) -> None:
        """An empty line."""
        self.console.print()

    @property
    def text_width(self) -> int:
        """How many letters a line of text may have."""
        return min(self.console.width, _MAX_TEXT_WIDTH)

    def heading(self, text: str) -> None:
        """A line across the page with the name of what follows."""
        self._line(("=" if self.is_ascii else "━") * self.text_width)
        self.paragraph(text, "bold")

    def list_item(self, text: str, style: str = "") -> None:
        """One item of a list; further lines begin below its first word."""
        self.paragraph(f"- {text}", style, hang=2)

    def paragraphs(self, texts: Iterable[str], style: str = "", blank_line_above: bool = False) -> None:
        """A paragraph for each text, maybe with one blank line above them all; nothing where there is no text."""
        for index, text in enumerate(texts):
            if blank_line_above and index == 0:
                self.blank_line()
            self.paragraph(text, style)

    def paragraph(self, text: str, style: str = "", indent: int = 0, hang: int = 0) -> None:
        """A paragraph, wrapped between words only: a number and its unit stay on one line.

        `indent` is that of all lines, `hang` that of all but the first in addition.
        """
        width = max(self.text_width - indent, 10)
        wrap = textwrap.TextWrapper(
            width, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False
        ).wrap
        for line in wrap(with_unbreakable_figures(self.clean(text))):
            self._line(" " * indent + line.replace("\xa0", " "), style)

    def drawing(self, lines: Iterable[str]) -> None:
        """Lines as they are, with the spaces between their letters."""
        for line in lines:
            self._line(self.clean(line))

    def _line(self, text: str, style: str = "") -> None:
        self.console.print(Text(text, style=style), soft_wrap=True, highlight=False)

    def tables(self, tables: Iterable[Table]) -> None:
        """Each table below a blank line."""
        for table in tables:
            self.blank_line()
            self.table(table)

    def table(self, table: Table) -> None:
        """One table if it fits the width, else several with some of its columns each, else a block for each name.

        Below it stands why a figure of it is absent.
        """
        if table.title:
            self.paragraph(table.title, "bold")
        fitting = self._fitting_tables(table)
        for index, each in enumerate(fitting):
            if index:
                self.blank_line()
            self.console.print(each)
        for index, name in enumerate([] if fitting else table.names):
            if index:
                self.blank_line()
            self._block(name, ((row.label, row.cells[index], row.depth) for row in table.rows))
        self.paragraphs(table.reasons(), "dim", blank_line_above=True)

    def _fitting_tables(self, table: Table) -> list[RichTable]:
        """As few as fit the width, brief rows rather than one table more; none where two columns are too wide."""
        for count in range(1, math.ceil(table.num_columns / 2) + 1):
            for written in (table, table.in_brief()):
                tables = [self._rich_table(part) for part in written.split(count)]
                if all(map(self._fits, tables)):
                    return tables
        return []

    def _fits(self, table: RichTable) -> bool:
        unlimited = self.console.options.update(width=10_000)
        return self.console.measure(table, options=unlimited).maximum <= self.console.width

    def _rich_table(self, table: Table) -> RichTable:
        header, lines = table.header_and_lines()
        rich_table = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
        for index, title in enumerate(header):
            rich_table.add_column(self._cell(title), justify="right" if index else "left", no_wrap=True)
        for line in lines:
            rich_table.add_row(*(self._cell(cell) for cell in line))
        return rich_table

    def _cell(self, text: str) -> Text:
        return Text(self.clean(text))

    def _block(self, name: str, pairs: Iterable[tuple[str, str, int]]) -> None:
        """The name, then labels on the left and cells on the right; a cell without room stands below its label."""
        lines = [("  " * (depth + 1) + self.clean(label), self.clean(value)) for label, value, depth in pairs]
        longest = max(cell_len(key) for key, _ in lines) + max(cell_len(value) for _, value in lines) + 2
        width = min(self.console.width, longest)
        self.paragraph(name, "bold")
        for key, value in lines:
            gap = width - cell_len(key) - cell_len(value)
            if gap >= 2:
                self._line(f"{key}{' ' * gap}{value}")
                continue
            self._line(key)
            if cell_len(value) <= width:
                self._line(" " * (width - cell_len(value)) + value)
            else:
                self.paragraph(value, indent=6)
