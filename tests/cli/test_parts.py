"""`tiedlm report` and `tiedlm compare` of the folder of an experiment with recipes or budgets."""

import json
from pathlib import Path

import pytest

from cli.main import main
from tests.support.parts_documents import recipes_comparison
from tests.support.terminal import unwrapped
from tiedlm.comparison.comparison import COMPARISON_FILE

DOCUMENT = recipes_comparison()
BEGINNINGS = {
    "--html": "<!doctype html>",
    "--markdown": "**On WikiText-103",
    "--csv": "part,variant,seed,split,metric,value,step,text,reason",
    "--latex": "% recipes, by tiedlm",
}


@pytest.fixture
def experiment(tmp_path: Path) -> str:
    """The folder of a finished experiment."""
    folder = tmp_path / "runs" / "recipes"
    folder.mkdir(parents=True)
    (folder / COMPARISON_FILE).write_text(DOCUMENT.model_dump_json())
    return str(folder)


@pytest.mark.parametrize("command", ["report", "compare"])
def test_both_commands_show_what_lies_there(command: str, experiment: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, experiment]) == 0
    screen = capsys.readouterr().out
    assert "Best against best: tied under plain" in screen
    assert unwrapped(screen).endswith(f"{DOCUMENT.statements[0]}.")
    assert "--details" in screen
    assert main([command, experiment, "--details"]) == 0
    assert "Recipe plain\n" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["report", "compare"])
def test_json_is_the_document(command: str, experiment: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, experiment, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == DOCUMENT.model_dump(mode="json")


def test_every_format_is_written(experiment: str, tmp_path: Path) -> None:
    words = [word for option in BEGINNINGS for word in (option, str(tmp_path / option))]
    assert main(["report", experiment, *words]) == 0
    for option, beginning in BEGINNINGS.items():
        assert (tmp_path / option).read_text(encoding="utf-8").startswith(beginning)


def test_the_charts_are_written(experiment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main(["report", experiment, "--plots", str(tmp_path / "plots")]) == 0
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {"recipes.png", "recipes.svg"}
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("words", [["--baseline", "tied"], ["--primary", "tied"], ["--smallest-worthwhile", "0.1"]])
def test_a_folder_of_parts_is_not_judged_anew(
    words: list[str], experiment: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", experiment, *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"tiedlm: {words[0]}: needs the config here")


@pytest.mark.parametrize("command", ["report", "compare"])
def test_among_several_folders_it_is_refused_and_not_left_out(
    command: str, experiment: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, experiment, str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and f"{experiment}: holds recipes or budgets" in err and "name it alone" in err


@pytest.mark.parametrize("command", ["report", "compare"])
def test_a_damaged_document_is_named_in_one_line(
    command: str, experiment: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (Path(experiment) / COMPARISON_FILE).write_text(json.dumps({"parts": [{"part": "plain"}], "baseline": "untied"}))
    assert main([command, experiment]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert "comparison.json: experiment: Field required; not a comparison of this version" in err
