"""`import tiedlm` loads nothing, and each public name is there once it is used, for type checkers too."""

import ast
import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import tiedlm

SOURCE = Path(tiedlm.__file__)
SLOW = ["torch", "numpy", "pandas", "pydantic", "yaml", "rich", "scipy", "datasets", "tokenizers", "typer"]
PROGRAM = """
import json, sys
before = set(sys.modules)
import tiedlm
names = dir(tiedlm)
imported = set(sys.modules) - before
tiedlm.ConfigError, tiedlm.RunError
with_errors = set(sys.modules) - before
tiedlm.compare, tiedlm.load_comparison, tiedlm.load_run, tiedlm.train, tiedlm.count_params
print(json.dumps([names, sorted(imported), sorted(with_errors), sorted(set(sys.modules) - before)]))
"""


def test_importing_it_and_looking_at_its_names_loads_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=SOURCE.parent
    )
    names, imported, with_errors, with_functions = json.loads(done.stdout)
    assert {*tiedlm.__all__} <= {*names}
    assert [module for module in imported if module.startswith("tiedlm")] == ["tiedlm"]
    assert not {*SLOW} & {*imported} and not {*SLOW} & {*with_errors}
    assert not {"torch", "pandas", "scipy", "datasets", "tokenizers"} & {*with_functions}


def test_every_public_name_is_there_and_no_other() -> None:
    for name in tiedlm.__all__:
        assert getattr(tiedlm, name) is getattr(tiedlm, name)
    assert tiedlm.__version__ == version("tiedlm")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tiedlm.nothing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError):
        from tiedlm import nothing  # type: ignore[attr-defined]  # noqa: F401


def test_a_type_checker_sees_what_is_loaded() -> None:
    """The imports for type checkers take each name from the module that it is loaded from."""
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    (typed,) = [node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name)]
    imports = [node for node in typed.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    loaded = {name: f"{module}.{name}" for name, module in tiedlm._MODULES.items()}
    assert seen == loaded
    assert {*loaded, "__version__"} == {*tiedlm.__all__}


def test_its_errors_are_of_one_family() -> None:
    assert issubclass(tiedlm.ConfigError, tiedlm.TiedlmError) and issubclass(tiedlm.ConfigError, ValueError)
    assert issubclass(tiedlm.Interrupted, tiedlm.RunError) and issubclass(tiedlm.RunError, tiedlm.TiedlmError)
