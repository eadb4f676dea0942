"""The shape of the report: imports point one way, and all that a format knows of sections is their list."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import tiedlm.report
from tiedlm.report.sections.all import SECTIONS

FOLDER = Path(tiedlm.report.__file__).parent
LAYERS = ["figures", "charts", "sections", "formats", "commands"]
"""Each layer imports only from itself and from those before it."""
NOT_A_SECTION = {"__init__", "all", "section"}


def imports_of(path: Path) -> Iterator[tuple[str, str]]:
    """The layer and the module of the report that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tiedlm.report."):
            layer, *module = (node.module or "").removeprefix("tiedlm.report.").split(".")
            for alias in node.names:
                yield layer, module[0] if module else alias.name


def files_of(*layers: str) -> list[Path]:
    return [path for layer in layers for path in sorted((FOLDER / layer).glob("*.py"))]


@pytest.mark.parametrize("path", files_of(*LAYERS), ids=lambda path: f"{path.parent.name}.{path.stem}")
def test_imports_point_one_way(path: Path) -> None:
    above = LAYERS[LAYERS.index(path.parent.name) + 1 :]
    assert not [(layer, module) for layer, module in imports_of(path) if layer in above]


def test_no_format_knows_a_section_by_name() -> None:
    for path in files_of("formats", "commands"):
        assert {module for layer, module in imports_of(path) if layer == "sections"} <= {"all", "section"}, path


def test_no_section_knows_another() -> None:
    for path in files_of("sections"):
        if path.stem not in NOT_A_SECTION:
            assert {module for layer, module in imports_of(path) if layer == "sections"} == {"section"}, path


def test_each_file_of_the_folder_is_a_section_of_the_list() -> None:
    names = [path.stem for path in files_of("sections") if path.stem not in NOT_A_SECTION]
    found = [importlib.import_module(f"tiedlm.report.sections.{name}").SECTION for name in names]
    assert len(found) == len(SECTIONS)
    assert all(section in SECTIONS for section in found)
    assert len({section.title for section in SECTIONS}) == len(SECTIONS)
