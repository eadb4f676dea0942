"""docs/example.ipynb runs from top to bottom, and its stored outputs are what it gives.

scripts/notebook stores them anew.
"""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts import notebook
from tests.support.pages import ROOT

STORED = notebook.read(notebook.EXAMPLE)
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The notebook as it comes out of one kernel that works in an empty folder."""
    return notebook.executed(notebook.EXAMPLE, tmp_path_factory.mktemp("notebook"))


def outputs(found: Any) -> Iterator[tuple[int, str, str]]:
    """(number of the cell, kind, text) of every output, the parts of a stream joined."""
    for number, cell in enumerate(found.cells):
        for kind, parts in itertools.groupby(cell.get("outputs", ()), lambda output: output.get("name", "data")):
            if kind != "data":
                yield number, kind, "".join(part["text"] for part in parts)
                continue
            for part in parts:
                yield from ((number, each, text) for each, text in sorted(part["data"].items()))


def without_numbers(text: str) -> str:
    return " ".join(NUMBER.sub("N", text).split())


def test_every_output_is_stored_as_it_comes_out(executed: Any) -> None:
    stored, fresh = [*outputs(STORED)], [*outputs(executed)]
    assert [(number, kind) for number, kind, _ in stored] == [(number, kind) for number, kind, _ in fresh]
    assert {"text/html", "image/png", "stdout"} <= {kind for _, kind, _ in stored}
    checked = 0
    for (number, kind, one), (_, _, other) in zip(stored, fresh, strict=True):
        if kind == "text/plain" or (kind == "text/html" and "tiedlm" in one):
            assert without_numbers(one) == without_numbers(other), f"cell {number}, {kind}"
            checked += 1
    assert checked > 6


def test_the_figures_stored_are_those_that_come_out(executed: Any) -> None:
    """Counts to the last digit; scores nearly, since another processor may round otherwise."""
    checked = 0
    for (number, kind, one), (_, _, other) in zip(outputs(STORED), outputs(executed), strict=True):
        if kind != "text/plain" or "Figure" in one:
            continue
        for mine, theirs in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True):
            checked += 1
            if "." in mine:
                assert float(mine) == pytest.approx(float(theirs), rel=0.02, abs=0.02), f"cell {number}"
            else:
                assert mine == theirs, f"cell {number}"
    assert checked > 30


def test_it_has_no_error_no_talk_and_no_path_of_a_machine(executed: Any) -> None:
    for found in (STORED, executed):
        assert not [kind for _, kind, _ in outputs(found) if kind in ("stderr", "error")]
    text = (ROOT / "docs" / "example.ipynb").read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|tmp|work|Users|opt|usr)/|[A-Z]:\\\\", re.sub(r'"image/png": "[^"]*"', "", text))


def test_its_cells_are_numbered_as_if_run_once() -> None:
    numbers = [cell.execution_count for cell in STORED.cells if cell.cell_type == "code"]
    assert numbers == [*range(1, len(numbers) + 1)]


def test_its_lines_fit_a_page() -> None:
    lines = [line for cell in STORED.cells if cell.cell_type == "code" for line in cell.source.splitlines()]
    assert max(map(len, lines)) <= 100


def test_it_links_to_the_page_of_python() -> None:
    links = [link for cell in STORED.cells for link in re.findall(r"\]\(([^)]+)\)", cell.source)]
    assert links and all(Path(ROOT / "docs" / link).is_file() for link in links)
