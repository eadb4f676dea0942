"""The command to give next: exact, and one that a shell takes."""

import shlex
import signal
import sys
from pathlib import Path

import pytest

from cli.main import main
from cli.next_command import command_line, going_on
from tests.support.command_line import write_tiny
from tests.support.in_process import in_this_process
from tests.support.small_runs import LONG, stop_at


def test_a_command_is_quoted_as_a_shell_wants_it() -> None:
    words = ["compare", "my config.yaml", "--set", "data.tokenizer={type: bpe}", "--runs-dir", "it's here"]
    line = command_line(*words)
    assert shlex.split(line) == ["tiedlm", *words]
    assert shlex.split(going_on([*words, "--fresh"])) == ["tiedlm", *words], "--fresh would start again"


def test_a_program_that_no_shell_finds_is_named_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "tiedlm"
    program.parent.mkdir()
    program.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(program)])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert command_line("report") == f"{program} report"
    monkeypatch.setenv("PATH", str(program.parent))
    assert command_line("report") == "tiedlm report"


def test_with_a_comparison_comes_the_command_that_shows_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    config = write_tiny(tmp_path)
    with in_this_process():
        assert main(["compare", str(config), "--runs-dir", "my runs"]) == 0
    out = capsys.readouterr().out
    (offered,) = [line for line in out.splitlines() if line.startswith("  tiedlm ")]
    program, *words = shlex.split(offered)
    assert program == "tiedlm" and words[-1] == "--details"
    assert main(words) == 0
    (page,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  tiedlm ")]
    assert main(shlex.split(page)[1:]) == 0 and (tmp_path / "tiny.html").is_file()
    capsys.readouterr()
    assert main(["compare", str(config), "--runs-dir", "my runs", "--json"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", [["compare"], ["train", "--variant", "tied", "--config"]])
def test_after_an_interrupt_the_command_goes_on(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [*command, str(write_tiny(tmp_path)), "--set", LONG, "--runs-dir", "my runs", "--fresh"]
    with in_this_process(stop_at(3, number=signal.SIGINT)):
        assert main(words) == 130
    first, second = capsys.readouterr().err.splitlines()[-2:]
    assert "state saved" in first
    assert ("0 of 2 runs done" in first) == (command == ["compare"])
    program, *offered = shlex.split(second.removeprefix("tiedlm: to go on, in this folder: "))
    assert (program, offered) == ("tiedlm", words[:-1])
