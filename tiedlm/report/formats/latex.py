"""The main table of a comparison as LaTeX for a paper; needs no package, and nothing in a name is a command."""

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence

from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.figures.notes import how_to_read
from tiedlm.report.figures.table import Table
from tiedlm.report.figures.text import one_line, with_unbreakable_figures

_WRITTEN = {
    **{symbol: f"\\{symbol}" for symbol in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\ensuremath{<}",
    ">": r"\ensuremath{>}",
    "|": r"\ensuremath{|}",
    "±": r"\ensuremath{\pm}",
    "×": r"\ensuremath{\times}",
    "−": r"\ensuremath{-}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "·": r"\ensuremath{\cdot}",
    "\xa0": "~",
    "[": "{[}",
    "]": "{]}",
}
_MINUS = re.compile(r"(?<![\w.+@=-])-(?=\d)")
"""Before a number, and not within a name."""

_MAX_COLUMNS = 3
"""So many variants fit the width of the text of an article."""


def comparison_latex(comparison: Comparison) -> str:
    """One `table` with its caption, or several where there are many variants, to `\\input` into any document."""
    notes = [*how_to_read(comparison), *main_table(comparison).reasons()]
    return latex_tables(comparison.experiment, comparison.verdict, _tables(comparison), notes)


def latex_tables(experiment: str, caption: str, tables: Sequence[Table], notes: Sequence[str]) -> str:
    """Each table with a caption: the first with that given and the notes, the others with their own title."""
    label = f"tab:{_label(experiment)}"
    written = [f"% {one_line(experiment)}, by tiedlm; \\input this file"]
    for index, table in enumerate(tables):
        further = escape(f"{table.title}.") if table.title else f"Table~\\ref{{{label}}}, continued."
        written += [
            r"\begin{table}",
            r"\centering",
            r"\small",
            *_tabular(table),
            rf"\caption{{{further if index else escape(caption)}}}",
            *([] if index else [rf"\label{{{label}}}", *_note(notes)]),
            r"\end{table}",
        ]
    return "\n".join([*written, ""])


def _note(lines: Sequence[str]) -> Iterator[str]:
    """How to read the table, in small letters below its caption."""
    yield r"\par\begin{minipage}{0.95\linewidth}\footnotesize"
    yield from (rf"{escape(line)}\par" for line in lines)
    yield r"\end{minipage}"


def escape(text: str) -> str:
    """`text` on one line, none of it a command; a letter that plain LaTeX does not know as its code point."""
    signed = _MINUS.sub("−", with_unbreakable_figures(one_line(text)))
    return "".join(_WRITTEN.get(symbol) or _letter(symbol) for symbol in signed)


def _letter(symbol: str) -> str:
    if symbol.isascii():
        return symbol
    is_latin = symbol.isalpha() and ord(symbol) < 0x180  # what pdflatex reads without a package
    return symbol if is_latin else f"{{[}}U+{ord(symbol):04X}{{]}}"


def _tables(comparison: Comparison) -> list[Table]:
    """The main table, split where there are many variants; with more than two, the interval is on its own line."""
    table = main_table(comparison)
    num_variants = len(table.names)
    if num_variants > 2:
        table = table.in_brief()
    return table.split(max(1, math.ceil(num_variants / _MAX_COLUMNS)))


def _tabular(table: Table) -> Iterator[str]:
    header, lines = table.header_and_lines()
    yield rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}"
    yield r"\hline"
    yield _row(header)
    yield r"\hline\noalign{\smallskip}"
    yield from map(_row, lines)
    yield r"\hline"
    yield r"\end{tabular}"


def _row(cells: Sequence[str]) -> str:
    label = cells[0].lstrip(" ")
    indent = r"\quad " if label != cells[0] else ""
    return rf"{indent}{' & '.join(map(escape, (label, *cells[1:])))} \\"


def _label(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return "".join(symbol if symbol.isalnum() else "-" for symbol in plain)
