"""What is kept of forecasts and counts is not used by another version of the code that they follow from."""

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import tiedlm
from tiedlm.forecast.sources import PARTS, sources_sha256

PACKAGE = Path(tiedlm.__file__).parent


def imported_files(name: str, seen: set[Path]) -> Iterator[Path]:
    """The file of a module, and of every module of ours that it imports, wherever in it."""
    path = PACKAGE.parent.joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if file in seen or not file.is_file():
        return
    seen.add(file)
    yield file
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tiedlm"):
            yield from imported_files(node.module or "", seen)
            for alias in node.names:
                yield from imported_files(f"{node.module}.{alias.name}", seen)


@pytest.mark.parametrize("module", ["tiedlm.forecast.memory_cache", "tiedlm.forecast.counts"])
def test_every_file_that_a_forecast_imports_is_among_its_sources(module: str) -> None:
    files = {file.relative_to(PACKAGE) for file in imported_files(module, set())}
    assert len(files) > 10
    assert {file.parts[0] for file in files} - {"__init__.py"} <= {*PARTS}


def test_a_change_in_any_part_gives_another_key(tmp_path: Path) -> None:
    package = tmp_path / "tiedlm"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    keys = {sources_sha256(PACKAGE)}
    for part in PARTS:
        place = package / part
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")
            sources_sha256.cache_clear()
            key = sources_sha256(package)
            assert key not in keys, f"{file} changed nothing"
            keys.add(key)
    (package / "model" / "new.py").write_text("")
    sources_sha256.cache_clear()
    assert sources_sha256(package) not in keys, "a new file is a change too"


def test_the_key_does_not_depend_on_where_the_package_lies(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "elsewhere", ignore=shutil.ignore_patterns("__pycache__"))
    assert sources_sha256(tmp_path / "elsewhere") == sources_sha256(PACKAGE)
