"""The shape of the code: imports point one way, planning stays light, every packaged config parses."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tiedlm.config.find import packaged_configs
from tiedlm.experiment.reading import is_shape, load_experiment, load_shape

ROOT = Path(__file__).parent.parent
SOURCES = sorted(path for folder in ("tiedlm", "cli") for path in (ROOT / folder).rglob("*.py"))
PACKAGES = [path for path in SOURCES if path.name == "__init__.py"]
TOP = ROOT / "tiedlm" / "__init__.py"
"""Names what it takes from the parts, and loads it on first use: see tests/test_public_names.py."""
PARTS = [
    "errors",
    "paths",
    "streams",
    "files",
    "json_document",
    "time_left",
    "progress_bar",
    "talk",
    "config",
    "initialization",
    "data",
    "kernels",
    "tying",
    "model",
    "evaluation",
    "checkpoints",
    "training",
    "forecast",
    "run",
    "experiment",
    "comparison",
    "embeddings",
    "report",
    "api",
    "cli",
    "__main__",
]
"""Each part imports only what stands before it."""
REPORT_READS = {"experiment": {"tuning"}, "run": {"result"}}
"""What the report may know of a run and of an experiment: what came out, and nothing that carries them out."""
COMPARISON_RUNS = {
    *("answer", "compare", "gather", "verify", "verify_all", "verify_run", "verify_tuning"),
    *("parts.answer", "parts.reopen", "parts.verify"),
}
"""What the report may not know of a comparison: how it comes about."""
HEAVY = ("torch", "scipy", "datasets", "tokenizers", "safetensors", "pandas", "pyarrow")


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str:
    first, *rest = module.split(".")
    return "cli" if first in ("cli", "tiedlm_cli") else rest[0] if rest else ""


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_of(path: Path) -> Iterator[str]:
    """The modules of ours that a file imports, wherever in it; of a package, what is taken from it."""
    here = module_of(path).split(".")
    package = here if path.name == "__init__.py" else here[:-1]
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = ROOT.joinpath(*f"{module}.{alias.name}".split("."))
                yield f"{module}.{alias.name}" if inner.with_suffix(".py").exists() or inner.is_dir() else module


def ours(path: Path) -> list[str]:
    return [name for name in imports_of(path) if name.split(".")[0] in ("tiedlm", "cli", "tiedlm_cli")]


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_imports_point_one_way(path: Path) -> None:
    mine = part_of(module_of(path))
    for name in ours(path):
        theirs = part_of(name)
        allowed = path == TOP or not theirs or theirs == mine or PARTS.index(theirs) < PARTS.index(mine)
        assert allowed, f"{module_of(path)} imports {name}"


def test_the_report_reads_results_and_nothing_that_runs_them() -> None:
    for path in SOURCES:
        if part_of(module_of(path)) == "report":
            read = {
                part: {name.split(".")[2] for name in ours(path) if part_of(name) == part}
                for part in ("run", "experiment", "comparison")
            }
            refused = {name for part, allowed in REPORT_READS.items() for name in read[part] - allowed}
            refused |= {name.removeprefix("tiedlm.comparison.") for name in ours(path)} & COMPARISON_RUNS
            assert not refused, f"{module_of(path)} imports {refused}"


def test_only_the_layout_knows_where_runs_lie() -> None:
    """No other code climbs up from a folder, or looks for the folders of runs."""
    knowing = [
        module_of(path)
        for path in SOURCES
        if re.search(r"\.parents\[|\.parent\.parent|glob\([^)]*seed-|f\"seed-", path.read_text(encoding="utf-8"))
    ]
    assert knowing == ["tiedlm.run.layout"]


@pytest.mark.parametrize("path", [path for path in PACKAGES if path != TOP], ids=module_of)
def test_a_package_imports_nothing(path: Path) -> None:
    assert list(imports_of(path)) == []


def is_light(path: Path) -> bool:
    """Whether a module is to be imported without torch: it plans, reports or reads text."""
    module = module_of(path)
    by_place = path.name == "config.py" or part_of(module) in (
        "config",
        "data",
        "report",
        "cli",
    )
    return by_place or "ree of torch" in (ast.get_docstring(parsed(path)) or "")


def test_planning_and_reporting_import_nothing_heavy() -> None:
    light = [module_of(path) for path in SOURCES if is_light(path)]
    assert {"tiedlm.experiment.plan", "tiedlm.comparison.comparison", "tiedlm.report.formats.terminal", "cli.main"} <= {
        *light
    }
    program = f"""
import importlib, json, sys
loaded = {{}}
for module in {light!r}:
    importlib.import_module(module)
    loaded[module] = [name for name in {HEAVY!r} if name in sys.modules]
print(json.dumps(loaded))
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    guilty = {module: heavy for module, heavy in json.loads(process.stdout).items() if heavy}
    assert guilty == {}, "the first of these modules brought them in"


@pytest.mark.parametrize("name", packaged_configs())
def test_every_packaged_config_parses(name: str) -> None:
    if name.startswith("shapes/"):
        assert load_shape(name).vocab_size is not None
        assert is_shape(name)
    else:
        experiment = load_experiment(name)
        assert experiment.variants
        assert not is_shape(name)


def test_no_module_is_named_after_nothing() -> None:
    names = {path.stem for path in [*SOURCES, *(ROOT / "tests").rglob("*.py")]}
    assert not names & {"utils", "helpers", "common", "util", "helper", "misc"}


def test_no_parameter_is_an_alias_of_another() -> None:
    """`a.weight = b.weight` is lost by to_empty, load_state_dict(assign=True) and FSDP."""
    for path in SOURCES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
                targets = [target for target in node.targets if isinstance(target, ast.Attribute)]
                aliases = [target for target in targets if target.attr == "weight" or node.value.attr == "weight"]
                assert not aliases, f"{path}:{node.lineno}"


def test_every_package_is_shipped() -> None:
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders = {
        path.parent.relative_to(ROOT) for top in ("tiedlm", "cli", "configs") for path in (ROOT / top).rglob("*.py")
    }
    places = {Path(shipped["package-dir"].get(name, name.replace(".", "/"))) for name in shipped["packages"]}
    assert places == folders
