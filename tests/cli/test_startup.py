"""Start-up: a command imports what it needs once it needs it, and the list of commands needs none of them."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.app import COMMANDS, command
from tests.support.finished_runs import example_comparison
from tests.support.small_runs import small_config
from tiedlm.comparison.comparison import store_comparison
from tiedlm.experiment.plan import plan
from tiedlm.experiment.reading import load_experiment
from tiedlm.run.folder import RunFolder

ROOT = Path(__file__).parent.parent.parent
SLOW = {"tiedlm.model.config", "torch", "scipy", "numpy", "pydantic", "rich", "yaml", "datasets", "tokenizers"}
PROGRAM = """
import contextlib, io, json, sys
from cli.main import main
loaded = {}
for line in json.loads(sys.stdin.read()):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        code = main(line.split())
    loaded[line] = [code, sorted(set(sys.modules) & set(json.loads(sys.argv[1]))), said.getvalue()]
print(json.dumps(loaded))
"""


def loaded_by(*lines: str, cwd: Path = ROOT) -> dict[str, tuple[int, list[str], str]]:
    """Of one command after the other in one new process: its exit code, the slow modules by then, its stderr."""
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(sorted(SLOW))],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        check=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    found: dict[str, tuple[int, list[str], str]] = json.loads(process.stdout)
    return found


def test_help_and_version_import_nothing_slow() -> None:
    lines = ["--help", "--version", *(f"{name} --help" for name in COMMANDS), "", "nothing"]
    found = loaded_by(*lines)
    assert {line: modules for line, (_, modules, _) in found.items() if modules} == {}
    assert {line: code for line, (code, _, _) in found.items() if code} == {"nothing": 2}


def test_a_mistake_is_told_without_torch() -> None:
    mistakes = {
        "compare no-such-config": "no such file",
        "compare quickstart --set training.step=3": "did you mean training.steps?",
        "count-params quickstart --set model.dim=x": "must be a whole number",
        "count-params quickstart no-such-config": "no such file",
        "report .": "no comparison is stored",
    }
    for line, (code, modules, said) in loaded_by(*mistakes).items():
        assert code == 2 and mistakes[line] in said, line
        assert "torch" not in modules, line


def test_a_run_that_another_process_holds_is_told_before_anything_is_prepared(tmp_path: Path) -> None:
    config = small_config(tmp_path)
    first = plan(load_experiment(config), tmp_path / "runs")[0]
    with RunFolder(first.directory).lock():
        ((code, modules, said),) = loaded_by(f"compare {config} --cache-dir cache", cwd=tmp_path).values()
    assert code == 1 and f"is in use by process {os.getpid()}" in said
    assert not {"torch", "numpy"} & {*modules} and not (tmp_path / "cache").exists()


def test_what_is_stored_is_printed_without_what_reads_configs(tmp_path: Path) -> None:
    store_comparison(example_comparison(), tmp_path)
    for line, (code, modules, _) in loaded_by("report . --json", "report .", cwd=tmp_path).items():
        assert (code, {*modules} & {"torch", "numpy", "scipy", "yaml", "tiedlm.model.config"}) == (0, set()), line


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_of_each_what_its_own_help_begins_with(name: str) -> None:
    help_text = command(name).help
    assert inspect.cleandoc(help_text).split(". ")[0].removesuffix(".") + "." == COMMANDS[name]
