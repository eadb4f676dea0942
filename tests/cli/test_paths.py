"""Paths on the command line and in configs: from any folder, with any spelling, and those that cannot be."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from cli.main import main
from tests.support.command_line import ROOT, TINY, write_tiny
from tests.support.in_process import in_this_process

PROGRAM = "import sys; from cli.main import main; sys.exit(main())"


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a text, a config that names it by its name alone, and its finished comparison."""
    monkeypatch.chdir(tmp_path)
    write_tiny(tmp_path)
    (tmp_path / "tiny.yaml").write_text(TINY % "text.txt")
    with in_this_process():
        assert main(["compare", "tiny.yaml", "--json"]) == 0
    return tmp_path


def test_a_run_is_the_same_and_its_text_is_found_from_every_folder(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "tiny.yaml", "--json"]) == 0
    here = capsys.readouterr().out
    (trained / "elsewhere").mkdir()
    monkeypatch.chdir(trained / "elsewhere")
    (trained / "again.yaml").write_text(TINY % "./elsewhere/../text.txt")
    for config in ("../tiny.yaml", str(trained / "again.yaml")):
        assert main(["compare", config, "--runs-dir", "../runs", "--json"]) == 0
        out, err = capsys.readouterr()
        assert (out, err) == (here, ""), "nothing is trained"
    run = "../runs/tiny/tied/seed-0"
    assert main(["evaluate", run, "--json"]) == 0
    assert main(["generate", run, "--num-tokens", "2"]) == 0
    assert main(["train", "--config", "../tiny.yaml", "--variant", "tied", "--runs-dir", "../runs", "--json"]) == 0


def test_a_run_that_was_stored_with_a_relative_path_is_printed_from_every_folder(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    for file in trained.glob("runs/tiny/*/seed-0/*"):
        if file.name in ("config.yaml", "result.json"):
            file.write_text(file.read_text().replace(f"{trained}/text.txt", "text.txt"))
    (trained / "elsewhere").mkdir()
    monkeypatch.chdir(trained / "elsewhere")
    assert main(["compare", "../tiny.yaml", "--runs-dir", "../runs", "--json"]) == 0
    assert main(["compare", "../runs/tiny", "--json"]) == 0
    assert main(["verify", "../runs/tiny"]) == 0
    assert "reading" not in capsys.readouterr().err
    assert main(["evaluate", "../runs/tiny/tied/seed-0"]) == 2
    said = capsys.readouterr().err
    assert f"data.corpus.file: {trained}/elsewhere/text.txt cannot be read: No such file" in said
    assert "text.txt is stored, relative to where you start" in said
    monkeypatch.chdir(trained)
    assert main(["evaluate", "runs/tiny/tied/seed-0"]) == 0


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (["compare", "~/tiny.yaml", "--runs-dir=~/r", "--cache-dir=~/c"], ["r/tiny/comparison.json", "c/tokens"]),
        (["report", "~/runs/tiny", "--html=~/p.html", "--csv=~/p.csv"], ["p.html", "p.csv"]),
        (["report", "~/runs/tiny", "--markdown=~/new/p.md", "--latex=~/p.tex"], ["new/p.md", "p.tex"]),
        (["compare", "~/runs/tiny"], []),
        (["verify", "~/runs/tiny"], []),
        (["train", "--config=~/tiny.yaml", "--variant=tied", "--runs-dir=~/runs"], []),
        (["evaluate", "~/runs/tiny/tied/seed-0"], []),
        (["generate", "~/runs/tiny/tied/seed-0", "--num-tokens=1"], []),
        (["count-params", "~/tiny.yaml"], []),
        (["prepare", "~/tiny.yaml", "--set=data.corpus.file=~/text.txt"], []),
        (["configs", "show", "~/tiny.yaml"], []),
        (["configs", "copy", "~/tiny.yaml", "~/copy.yaml"], ["copy.yaml"]),
    ],
    ids=lambda value: " ".join(value[:2]) if value and value[0].isalpha() else "",
)
def test_a_tilde_is_the_home_folder_wherever_a_path_is_asked_for(
    trained: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], made: list[str]
) -> None:
    (trained / "elsewhere").mkdir()
    monkeypatch.setenv("HOME", str(trained))
    monkeypatch.chdir(trained / "elsewhere")
    with in_this_process():
        assert main(words) == 0
    assert list(Path.cwd().iterdir()) == []
    assert [name for name in made if not (trained / name).exists()] == []


@pytest.mark.parametrize("variable", ["TIEDLM_CACHE", "XDG_CACHE_HOME"])
def test_a_tilde_in_the_environment_is_the_home_folder_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TIEDLM_CACHE", raising=False)
    monkeypatch.setenv(variable, "~/c")
    assert main(["prepare", str(write_tiny(tmp_path))]) == 0
    assert list((tmp_path / "home" / "c").rglob("tokens"))
    assert not Path("~").exists()


def test_a_file_whose_name_starts_with_a_tilde_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_tiny(tmp_path).rename("~tiny.yaml")
    Path("text.txt").rename("~draft.txt")
    assert main(["prepare", "~tiny.yaml", "--set", "data.corpus.file=~draft.txt"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["compare", "a\0b"], "no file name can hold a NUL"),
        (["compare", "tiny.yaml", "--set", 'data.corpus.file="a\\0b"'], "data.corpus.file: 'a\\x00b': no file name"),
        (["compare", "x" * 300], "File name too long"),
        (["compare", "tiny.yaml/x"], "tiny.yaml is a file, not a folder"),
        (["compare", "dead"], "dead is a link to nowhere, which is not there"),
        (["compare", "tiny.yaml", "--set", "data.corpus.file=dead"], "data.corpus.file: "),
        (["compare", "tiny.yaml", "--set", "data.corpus.file=text.txt/x"], "text.txt is a file, not a folder"),
        (["compare", "tiny.yaml", "--set", "data.corpus.file=."], "Is a directory"),
        (["compare", "tiny.yaml", "--set", "data.corpus.file=" + "x" * 300], "File name too long"),
        (["compare", "tiny.yaml", "--set", "data.tokenizer={type: file, path: dead}"], "data.tokenizer.path: "),
        (["compare", "tiny.yaml", "--runs-dir", "text.txt"], "--runs-dir: text.txt is a file, not a folder"),
        (["compare", "tiny.yaml", "--runs-dir", "dead"], "--runs-dir: dead is a link to nowhere"),
        (["compare", "tiny.yaml", "--cache-dir", "text.txt/c"], "--cache-dir: text.txt/c: text.txt is a file"),
        (["compare", "tiny.yaml", "--runs-dir", "x" * 300], "--runs-dir: " + "x" * 300 + ": File name too long"),
        (["report", ".", "--html", "."], "--html: . is a folder, not a file"),
        (["report", ".", "--csv", "/dev/null/x"], "--csv: /dev/null/x: /dev/null is a file, not a folder"),
        (["report", ".", "--plots", "text.txt"], "--plots: text.txt is a file, not a folder"),
        (["report", "dead"], "dead is a link to nowhere, which is not there"),
        (["evaluate", "text.txt"], "tiedlm: text.txt is a file, not a folder"),
        (["verify", "tiny.yaml"], "is a file, not a folder"),
        (["configs", "copy", "quickstart", "text.txt/x"], "text.txt is a file, not a folder"),
    ],
    ids=lambda value: " ".join(value)[:60].replace("\0", "0") if isinstance(value, list) else "",
)
def test_a_path_that_cannot_be_is_one_line_and_a_wrong_request(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_tiny(tmp_path)
    Path("dead").symlink_to("nowhere")
    with in_this_process():
        assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    last = err.splitlines()[-1]
    assert said in last
    assert "unexpected" not in err and "full" not in err
    assert {path.name for path in tmp_path.iterdir()} == {"dead", "text.txt", "tiny.yaml"}


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


def test_what_a_name_was_taken_for_is_said(
    trained: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    Path("quickstart").mkdir()
    assert main(["compare", "quickstart", "--dry-run", "--json"]) == 0
    out, err = capsys.readouterr()
    assert len(json.loads(out)["runs"]) == 10
    assert err == "quickstart is the packaged config; the folder quickstart here holds no runs\n"
    Path("quickstart").rmdir()
    (trained / "runs" / "tiny").rename("quickstart")
    assert main(["compare", "quickstart", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["experiment"] == "quickstart"
    assert err == "quickstart is the folder of runs here; the packaged config is quickstart.yaml\n"


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
