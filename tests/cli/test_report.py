"""`tiedlm report`: what goes to stdout, what into files, and what cannot be had together."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.main import main
from tests.support.finished_runs import example_comparison
from tiedlm.comparison.comparison import store_comparison

ROOT = Path(__file__).parent.parent.parent
BEGINNINGS = {
    "--html": "<!doctype html>",
    "--markdown": "**On WikiText-103",
    "--csv": "variant,seed,split,metric,value,step,text,reason",
    "--latex": "% example, by tiedlm",
}


@pytest.fixture
def experiment(tmp_path: Path) -> str:
    """The folder of a finished experiment."""
    store_comparison(example_comparison(), tmp_path / "runs")
    return str(tmp_path / "runs")


@pytest.mark.parametrize(("option", "beginning"), BEGINNINGS.items())
def test_a_document_goes_to_stdout_alone(
    option: str, beginning: str, experiment: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", experiment, option, "-"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(beginning)
    assert out.endswith("\n")
    assert err == ""


@pytest.mark.parametrize("option", ["--html", "--latex"])
def test_a_document_on_stdout_is_the_file_to_the_last_byte(option: str, experiment: str, tmp_path: Path) -> None:
    assert main(["report", experiment, option, str(tmp_path / "file")]) == 0
    plain = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "cli.main", "report", experiment, option, "-"]
    done = subprocess.run(command, capture_output=True, env=plain, cwd=ROOT, check=True)
    assert done.stdout == (tmp_path / "file").read_bytes()


def test_several_files_are_written_at_once_and_stdout_is_left_to_json(
    experiment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word for option in BEGINNINGS for word in (option, str(tmp_path / option))]
    assert main(["report", experiment, *words, "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out) == example_comparison().model_dump(mode="json")
    for option, beginning in BEGINNINGS.items():
        assert (tmp_path / option).read_text(encoding="utf-8").startswith(beginning)
        assert f"written: {tmp_path / option}" in err


def test_files_alone_leave_stdout_empty(experiment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", experiment, "--html", str(tmp_path / "page.html")]) == 0
    assert capsys.readouterr().out == ""


def test_two_documents_in_one_file_are_refused(
    experiment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page"
    assert main(["report", experiment, "--html", str(page), "--csv", f"{tmp_path}/./page"]) == 2
    assert "--csv: " in (err := capsys.readouterr().err) and "is the file of --html too" in err
    assert not page.exists()


@pytest.mark.parametrize("name", ["comparison.json", "tied/seed-0/result.json"])
def test_what_a_report_is_made_of_is_not_written_over(
    name: str, experiment: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = Path(experiment, name)
    if not stored.exists():
        stored.parent.mkdir(parents=True)
        stored.write_text("{}")
    before = stored.read_bytes()
    assert main(["report", experiment, "--markdown", str(stored)]) == 2
    assert "is part of what is stored there" in capsys.readouterr().err
    assert stored.read_bytes() == before


@pytest.mark.parametrize(
    "words", [["--markdown", "-", "--json"], ["--html", "-", "--csv", "-"], ["--latex", "-", "--json"]]
)
def test_stdout_holds_one_document(words: list[str], experiment: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", experiment, *words]) == 2
    out, err = capsys.readouterr()
    assert "would both be on stdout: give one of them a file" in err
    if "--json" in words:
        assert json.loads(out)["error"]["kind"] == "config"
    else:
        assert out == ""


def test_plots_without_matplotlib_exit_2_with_the_line_that_installs_it(
    experiment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    words = ["--plots", str(tmp_path / "plots"), "--html", str(tmp_path / "page.html")]
    assert main(["report", experiment, *words]) == 2
    assert "pip install 'tiedlm[plots]'" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists(), "nothing is written of what cannot be had whole"


def test_a_file_that_cannot_be_written_is_named(
    experiment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["report", experiment, "--html", str(tmp_path / "file" / "page.html")]) == 2
    assert f"--html: {tmp_path}/file/page.html: {tmp_path}/file is a file, not a folder" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_an_output_without_room_is_said_in_one_line(words: list[str], experiment: str, tmp_path: Path) -> None:
    program = 'ulimit -f 0; exec "$@" > "$0"'  # as a full disk would: no file may have a single byte
    command = [sys.executable, "-m", "cli.main", "report", experiment, *words]
    done = subprocess.run(
        ["bash", "-c", program, str(tmp_path / "out"), *command], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "tiedlm: the output could not be written: File too large\n"
