"""Paths on the command line and in configs: from any folder, with any spelling, and those that cannot be."""

import json
from pathlib import Path

import pytest

from cli.main import main
from tests.support.command_line import TINY, write_tiny
from tests.support.in_process import in_this_process


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
        (["compare", "tiny.yaml", "--set", "data.corpus.file=."], "is a folder, one file is wanted"),
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
    assert json.loads(out)["experiment"] == "tiny", "the name that its runs have"
    assert err == "quickstart is the folder of runs here; the packaged config is quickstart.yaml\n"
