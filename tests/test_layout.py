"""Where tests lie: beside nothing but tests, in the tree of what they test; what they share is in tests/support."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parent
FILES = sorted(path for path in TESTS.rglob("*.py"))


def name_of(path: Path) -> str:
    return str(path.relative_to(TESTS))


def imported_by(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return modules | {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_what_tests_share_is_in_support_and_nothing_else_is_imported(path: Path) -> None:
    of_tests = {module for module in imported_by(path) if module.split(".")[0] == "tests"}
    assert {module for module in of_tests if not module.startswith("tests.support.")} == set()


def test_support_holds_no_tests() -> None:
    for path in (TESTS / "support").rglob("*.py"):
        functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
        assert not [function.name for function in functions if function.name.startswith("test")], path


def test_every_folder_of_tests_is_one_of_the_code() -> None:
    folders = {path.parent.relative_to(TESTS) for path in FILES if path.name.startswith("test_")} - {Path()}
    assert len(folders) > 10
    assert [
        folder for folder in folders if not (ROOT / "tiedlm" / folder).is_dir() and not (ROOT / folder).is_dir()
    ] == []
