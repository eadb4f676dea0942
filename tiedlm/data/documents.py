"""Rows of text, and where a document begins among them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from tiedlm.data.config import Documents, Split


class Row(NamedTuple):
    """One line of text, ending in exactly one newline (a blank one is a newline alone)."""

    text: str
    starts_document: bool


Text = Mapping[Split, Iterable[Row]]
"""The rows of each split; each split can be read again and again."""


def rows_of(document: str) -> Iterator[Row]:
    """The rows of one document, whether or not a newline stands at its end."""
    lines = document.removesuffix("\n").split("\n")
    return (Row(line + "\n", index == 0) for index, line in enumerate(lines))


def mark_documents(lines: Iterable[str], documents: Documents) -> Iterator[Row]:
    """`lines` (each ending in one newline) as rows; blank lines at the start belong to the first document."""
    begun = False  # whether a line that is not blank stands above
    for index, (line, starts) in enumerate(_RULES[documents](lines)):
        yield Row(line, index == 0 or (begun and starts))
        begun = begun or not line.isspace()


def _paragraphs(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    before = "\n"
    for line in lines:
        yield line, before.isspace() and not line.isspace()
        before = line


def _lines(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    return ((line, not line.isspace()) for line in lines)


def _articles(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    before = "\n"
    for line, after in _with_next(lines):
        yield line, before.isspace() and after.isspace() and is_title(line)
        before = line


def _whole_file(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    return ((line, False) for line in lines)


_RULES = {"paragraphs": _paragraphs, "lines": _lines, "articles": _articles, "file": _whole_file}


def is_title(line: str) -> bool:
    """Whether a row reads ` = Title = `: exactly one = on each side, as WikiText marks an article."""
    words = line.split()
    if len(words) < 3 or words[0] != "=" or words[-1] != "=":
        return False
    return words[1] != "=" and words[-2] != "="


def _with_next(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each line with the one after it ("" at the end)."""
    rest = iter(lines)
    line = next(rest, None)
    if line is None:
        return
    for after in rest:
        yield line, after
        line = after
    yield line, ""
