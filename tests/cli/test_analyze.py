"""`tiedlm analyze`: what it takes, what it refuses, and the document that it prints."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from tests.support.small_runs import carry_out, environment, small_run

TIED, UNTIED = "runs/small/tied/seed-0", "runs/small/untied/seed-0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment of one seed."""
    home = tmp_path_factory.mktemp("cli")
    for variant in ("tied", "untied"):
        carry_out(small_run(home, variant=variant))
    return home


@pytest.fixture(autouse=True)
def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")


def document(capsys: Any, *arguments: str) -> Any:
    assert main(["analyze", *arguments, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def printed(capsys: Any, *arguments: str) -> str:
    assert main(["analyze", *arguments]) == 0, capsys.readouterr().err
    out: str = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    return out


def test_the_document_has_the_keys_that_others_rely_on(capsys: Any) -> None:
    found = document(capsys, TIED, UNTIED, "--by-frequency")
    assert [(each["model"], each["side"]) for each in found["matrices"]] == [
        (model, side) for model in (TIED, UNTIED) for side in ("input", "output")
    ]
    matrix, pair = found["matrices"][0], found["pairs"][-1]
    assert {"isoscore", "mean_cosine", "partition"} <= {*matrix["isotropy"]}
    assert {"num_tokens", "effective_rank", "frequency", "hubness", "distance"} <= {*matrix}
    assert pair["a"] == {"model": TIED, "side": "input"} and pair["b"] == {"model": UNTIED, "side": "output"}
    assert {*pair["alignment"]} == {"identity", "orthogonal", "linear"}
    assert all({"held_out", "in_sample", "floor"} <= {*fit} for fit in pair["alignment"].values())
    assert {"overlap", "chance", "k"} <= {*pair["neighbours"]}
    assert {"num_tokens", "cka", "symmetric_share"} <= {*pair} and found["differences"] == []


def test_a_screen_has_every_measure_and_stays_within_it(capsys: Any) -> None:
    out = printed(capsys, UNTIED, "--by-frequency", "--tokens", "P")
    for words in ("IsoScore", "effective rank", "cosine, turned", "linear CKA", "by chance", "Nearest to 'P'"):
        assert words in out
    two = printed(capsys, TIED, UNTIED)
    assert f"A: {TIED} (tied, step 6; 257 tokens, width 16)" in two and "A ~ B output" in two


def test_an_experiment_by_name_or_the_newest_has_differences_to_the_baseline(capsys: Any) -> None:
    found = document(capsys, "small", "--measures", "isotropy,rank")
    assert found == document(capsys, "--measures", "rank, isotropy")
    assert {each["variant"] for each in found["differences"]} == {"tied"} and found["baseline"] == "untied"
    assert {each["of"] for each in found["differences"]} == {"input", "output"}
    out = printed(capsys, "small")
    assert "tied minus untied, paired by seed" in out and "cannot tell" in out


def test_a_checkpoint_is_a_model(capsys: Any) -> None:
    found = document(capsys, f"{UNTIED}/checkpoint/step-6", "--measures", "cka")
    assert found["models"][0]["step"] == 6 and found["pairs"][0]["cka"] is not None


REFUSED = {
    "nothing-here": "no such folder",
    f"{TIED} {UNTIED} {TIED}": "3 paths: give one model, two, or one experiment",
    f"{TIED} ./{TIED}": "is given twice: give two different models, or one",
    f"small {TIED}": "is an experiment: give it alone, or give two of its runs",
    "small --tokens P": "--tokens: runs/small is an experiment: give one or two of its runs",
    "small --by-frequency": "--by-frequency: runs/small is an experiment",
    f"{TIED} --measures cka,size": "--measures: 'size' is not one of alignment, cka, neighbours, isotropy, rank",
    f"{TIED} --queries some": "--queries: 'some': must be a whole number above 0, or all",
    f"{TIED} --queries {'9' * 5000}": "must be a whole number above 0, or all",
    f"{TIED} --queries 0": "--queries: '0': must be a whole number above 0, or all",
    f"{TIED} --tokens zyx": "--tokens: 'zyx' is no token that was measured",
    f"{TIED} --tokens P,,Q": "--tokens: 'P,,Q': must be words with commas between them",
    f"{TIED} --pairs nothing.csv": "--pairs: nothing.csv cannot be read: No such file or directory",
    f"{TIED}/evaluation": "holds no model: give the folder of a run",
    "small.yaml": "is a file, not a folder",
}


@pytest.mark.parametrize("line", REFUSED)
def test_what_is_wrong_is_said_in_a_line(capsys: Any, line: str) -> None:
    assert main(["analyze", *line.split()]) == 2
    out, err = capsys.readouterr()
    assert out == "" and REFUSED[line] in err and err.count("\n") == 1


def test_fewer_queries_are_asked_of_fewer_tokens_and_all_of_all(capsys: Any) -> None:
    for given, expected in (("20", 20), ("all", 257), ("9999", 257)):
        found = document(capsys, UNTIED, "--measures", "neighbours", "--queries", given)
        assert found["pairs"][0]["neighbours"]["num_queries"] == expected


def test_a_mistake_is_told_without_torch(folder: Path) -> None:
    program = (
        "import sys; from cli.main import main; "
        f"codes = [main(['analyze', {TIED!r}, '--measures', 'x']), main(['analyze', 'nothing'])]; "
        "print(codes, 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(), cwd=folder
    )
    assert done.stdout == "[2, 2] False\n", done.stderr
