"""Paths in an environment that is short of something: a locale, a home folder, a right to look."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.command_line import ROOT, TINY, write_tiny

PROGRAM = "import sys; from cli.main import main; sys.exit(main())"


def told(words: Sequence[str | Path], folder: Path, environment: dict[str, str], program: str = PROGRAM) -> str:
    """The one line of an error that ends with exit code 2, in a process with this environment alone."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, words)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), **environment},
    )
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    return line


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere file names have one encoding")
@pytest.mark.parametrize("key", ["data.corpus.file", "data.tokenizer.path", "extends"])
def test_a_name_that_the_locale_does_not_have_is_refused_by_its_key(tmp_path: Path, key: str) -> None:
    written = {
        "data.corpus.file": TINY % "bücher.txt",
        "data.tokenizer.path": (TINY % "t.txt").replace("{type: byte}", "{type: file, path: bücher.json}"),
        "extends": "extends: bücher.yaml\n",
    }
    (tmp_path / "tiny.yaml").write_text(written[key], encoding="utf-8")
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "TIEDLM_CACHE": str(tmp_path / "cache")}
    line = told(["compare", "tiny.yaml"], tmp_path, locale)
    assert line.startswith(f"tiedlm: tiny.yaml: {key}: ")
    assert "file names are ascii in this locale" in line and "PYTHONUTF8=1" in line


WITHOUT_ENTRY = f"import os; os.setreuid(54321, 0); {PROGRAM}"
"""As a user that the user database does not know, and who may still read everything."""


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can become a user without an entry")
def test_without_a_home_folder_the_ways_out_are_named(tmp_path: Path) -> None:
    config = write_tiny(tmp_path)
    line = told(["compare", config, "--dry-run"], tmp_path, {}, WITHOUT_ENTRY)
    assert line.startswith("tiedlm: --cache-dir: no home folder is known")
    assert "TIEDLM_CACHE" in line
    line = told(["compare", config, "--runs-dir=~/r"], tmp_path, {}, WITHOUT_ENTRY)
    assert line == "tiedlm: --runs-dir: ~/r: no home folder is known, HOME is not set: give a full path"
    line = told(["prepare", config, "--set=data.corpus.file=~/x", "--cache-dir=c"], tmp_path, {}, WITHOUT_ENTRY)
    assert line.startswith(f"tiedlm: {config}: data.corpus.file: ~/x: no home folder is known")


WITHOUT_RIGHTS = f"""
import ctypes, os, sys
for may_read_all in (1, 2):
    ctypes.CDLL(None).prctl(24, may_read_all, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-c", {PROGRAM!r}, *sys.argv[1:]])
"""
"""Permissions count for root too, from the second program on."""


@pytest.mark.skipif(sys.platform != "linux", reason="how root loses its privileges is a matter of the system")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["prepare", "locked/x.yaml"], "locked/x.yaml: Permission denied"),
        (["prepare", "top.yaml"], "top.yaml: extends: {here}/locked/x.yaml: Permission denied"),
        (["prepare", "tiny.yaml", "--set", "data.corpus.file=locked/x"], "data.corpus.file: {here}/locked/x cannot"),
        (["compare", "tiny.yaml", "--runs-dir", "locked/r"], "--runs-dir: locked/r: Permission denied"),
        (["report", "locked/r"], "locked/r: Permission denied"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_place_that_may_not_be_looked_into_is_named(tmp_path: Path, words: list[str], said: str) -> None:
    write_tiny(tmp_path)
    (tmp_path / "top.yaml").write_text(f"extends: {tmp_path}/locked/x.yaml\n")
    (tmp_path / "locked").mkdir(mode=0o600)
    line = told(words, tmp_path, {"TIEDLM_CACHE": str(tmp_path / "cache")}, WITHOUT_RIGHTS)
    assert line.startswith("tiedlm: " + said.format(here=tmp_path))
    assert "Permission denied" in line
