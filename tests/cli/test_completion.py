"""What a shell completes: asked as bash and zsh ask, in a process of its own."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.app import COMMANDS
from tests.support.small_runs import small_config

ROOT = Path(__file__).parent.parent.parent
MAIN = [sys.executable, "-c", "import sys; from cli.main import main; sys.exit(main())"]


def completions(line: str, folder: Path, shell: str = "bash") -> list[str]:
    """What stands there once the key is pressed at the end of `line`."""
    words = line.split()
    last = len(words) if line.endswith(" ") else len(words) - 1
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(last), "_TYPER_COMPLETE_ARGS": line}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "_TIEDLM_COMPLETE": f"complete_{shell}", **asked}
    done = subprocess.run(MAIN, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.stderr == "", "what is being typed is not written over"
    return done.stdout.removesuffix("\n").split("\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a config and a run."""
    small_config(tmp_path)
    (tmp_path / "runs" / "mine" / "tied" / "seed-0").mkdir(parents=True)
    return tmp_path


def test_commands_and_those_below_them(folder: Path) -> None:
    assert {*completions("tiedlm ", folder)} >= {*COMMANDS}
    assert completions("tiedlm co", folder) == ["compare", "count-params", "configs"]
    assert completions("tiedlm configs e", folder) == ["explain"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("tiedlm compare quick", ["quickstart"]),
        ("tiedlm train sm", ["smollm2-135m", "small.yaml"]),
        ("tiedlm train --config quick", ["quickstart"]),
        ("tiedlm compare mi", ["mine"]),
        ("tiedlm report mi", ["mine"]),
        ("tiedlm verify mi", ["mine"]),
        ("tiedlm evaluate runs/", ["runs/mine/tied/seed-0"]),
        ("tiedlm evaluate x --split v", ["validation"]),
        ("tiedlm configs copy tu", ["tuned"]),
        ("tiedlm configs explain training.warm", ["training.warmup"]),
        ("tiedlm train x --set training.warm", ["training.warmup="]),
        ("tiedlm train --var", ["--variant"]),
        ("tiedlm compare sub/dir", [""]),
        ("tiedlm report --html x", [""]),
    ],
)
def test_what_may_stand_there(line: str, found: list[str], folder: Path) -> None:
    assert completions(line, folder) == found, "nothing leaves it to the shell, which completes paths"


def test_zsh_is_told_what_each_is(folder: Path) -> None:
    assert '"verify":"Recompute every figure from stored scores."' in "".join(completions("tiedlm veri", folder, "zsh"))


@pytest.mark.parametrize("shell", [shell for shell in ("bash", "zsh") if shutil.which(shell)])
def test_completion_is_installed_for_the_shell_that_asks(shell: str, tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    for what, said in (("show", "_TIEDLM_COMPLETE=complete_"), ("install", f"completion for {shell} is in {tmp_path}")):
        line = f"{shlex.join([*MAIN, f'--{what}-completion'])}; true"  # one more, or the shell replaces itself
        done = subprocess.run([shell, "-c", line], capture_output=True, text=True, env=environment, check=True)
        assert said in done.stdout, done.stderr
    assert (tmp_path / f".{shell}rc").is_file()
