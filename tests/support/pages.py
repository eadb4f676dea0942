"""The pages of the documentation taken apart: blocks, code spans, links, headings, commands with their output."""

import itertools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    """A `tiedlm` command in a block of a page: its words without the program, and the lines printed below it."""

    page: str
    words: tuple[str, ...]
    output: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page}: {' '.join(self.words)}"


class Page:
    """A Markdown file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.relative_to(ROOT).as_posix()
        self.text = path.read_text(encoding="utf-8")
        self.prose = _BLOCK.sub("", self.text)

    def __str__(self) -> str:
        return self.name

    def blocks(self, language: str = "") -> list[str]:
        """The fenced blocks in a language, without the indentation of the fence."""
        found = (match.groups() for match in _BLOCK.finditer(self.text))
        return [
            re.sub(f"^{indent}", "", text, flags=re.MULTILINE) for indent, named, text in found if named == language
        ]

    @cached_property
    def spans(self) -> list[str]:
        """Every `code span` outside blocks, with line breaks as spaces."""
        return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", self.prose)]

    @cached_property
    def anchors(self) -> set[str]:
        """What a link to a heading of this page ends with, as GitHub forms it."""
        titles = re.findall(r"^#+ (.*)$", self.prose, flags=re.MULTILINE)
        return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}

    @cached_property
    def links(self) -> list[tuple[Path, str]]:
        """The file that each link leads to and the heading in it ("" for none)."""
        targets = (target.partition("#") for target in re.findall(r"\]\(([^)\s]+)\)", self.prose))
        return [((self.path.parent / file).resolve() if file else self.path, anchor) for file, _, anchor in targets]

    def table(self, first_cell: str) -> list[list[str]]:
        """The rows of the table whose head begins with `first_cell`, without head and rule."""
        lines = iter(self.text.splitlines())
        next(line for line in lines if line.startswith(f"| {first_cell} |"))
        next(lines)
        rows = []
        for line in lines:
            if not line.startswith("|"):
                break
            rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
        return rows

    def commands(self) -> Iterator[Command]:
        """Every `tiedlm` command in a block, in order."""
        for block in self.blocks():
            lines = block.splitlines()
            starts = [index for index, line in enumerate(lines) if re.match(r"(\$ )?tiedlm [a-z]", line)]
            for index, end in itertools.pairwise([*starts, len(lines)]):
                words = shlex.split(lines[index].removeprefix("$ "), comments=True)
                yield Command(self.name, tuple(words[1:]), tuple(map(str.rstrip, lines[index + 1 : end])))


PAGES = [Page(path) for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))]


def page(name: str) -> Page:
    """One of PAGES, by its name from the root of the repository."""
    return next(found for found in PAGES if found.name == name)
