"""Installed from a wheel and in place, tiedlm finds its commands and configs from any folder."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import forecast_memory

ROOT = Path(__file__).parent.parent
SHIPPED = ("pyproject.toml", "README.md", "LICENSE", "tiedlm", "cli", "configs")
Run = Callable[..., str]


def pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)]
    # a path to the sources would make them count as installed
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    process = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert process.returncode == 0, process.stderr


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources: building leaves folders behind, and stale ones would end up in the wheel."""
    copy = tmp_path_factory.mktemp("source")
    ignored = shutil.ignore_patterns("__pycache__")
    for name in SHIPPED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=ignored)
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, copy / name)
    return copy


def new_environment(folder: Path) -> Path:
    """A virtual environment that sees what tiedlm depends on where it is installed, but not tiedlm itself there.

    A path line adds a folder to the path without reading the .pth files in it, by which editable installs are found.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = next((folder / "lib").glob("python*/site-packages"))
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


@pytest.fixture(scope="module", params=["wheel", "editable"])
def installed(request: pytest.FixtureRequest, source: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a program of an environment in which tiedlm is installed, from a folder that has nothing to do with it."""
    home = tmp_path_factory.mktemp(request.param)
    python = new_environment(home / "environment")
    offline = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    if request.param == "wheel":
        pip("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", home, source)
        (wheel,) = home.glob("*.whl")
        pip("--python", python, *offline, wheel)
        place = home
    else:
        pip("--python", python, *offline, "--editable", source)
        place = source
    (home / "elsewhere").mkdir()

    def run(program: str, *arguments: str) -> str:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [str(python.parent / program), *arguments]
        process = subprocess.run(command, capture_output=True, text=True, cwd=home / "elsewhere", env=environment)
        assert process.returncode == 0, process.stderr
        return process.stdout

    modules = "tiedlm, tiedlm.data, tiedlm.configs, tiedlm.configs.shapes, tiedlm_cli"
    found = run("python", "-c", f"import {modules}; print(*({modules}), sep=chr(10))").splitlines()
    assert len(found) == 5
    assert all(str(place.resolve()) in line for line in found), "imported from where it was installed"
    return run


def test_the_command_and_the_packaged_configs_are_found(installed: Run) -> None:
    assert installed("tiedlm", "--version") == "tiedlm 0.1.0\n"
    models = json.loads(installed("tiedlm", "count-params", "tied.yaml", "--json"))["models"]
    assert {model["tying"] for model in models} == {"tied", "untied"}
    assert all(sum(model["parts"].values()) == model["total"] for model in models)


def test_a_short_run_of_the_quickstart_trains(installed: Run, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("".join(f"Paragraph {number} says that {number} is a number.\n\n" for number in range(200)))
    settings = {
        "data.corpus": f"{{type: text, file: {text}}}",
        "data.tokenizer": "{type: byte}",
        "data.seq_len": "16",
        "model.num_layers": "1",
        "model.dim": "16",
        "training.steps": "2",
        "training.batch_size": "2",
        "training.num_threads": "1",
        "training.device": "cpu",
    }
    changes = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    words = ["train", "--config", "quickstart", "--variant", "tied", *changes]
    forecast_memory(*words)
    result = json.loads(installed("tiedlm", *words, "--json"))
    assert (result["variant"], result["steps"]) == ("tied", 2)
    assert result["splits"]["test"]["nll"] > 0
