"""`tiedlm audit`: exit codes, the document, a block or a table, and no torch for safetensors."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from tests.support.command_line import ROOT
from tests.support.planted_checkpoints import llama, plant, plant_shards, tensors

KEYS = {"path", "verdict", "flag", "stored", "equal", "findings"}


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three checkpoints beside each other, in the folder that the command is started in."""
    plant(tmp_path / "tied", llama(True), "input")
    plant(tmp_path / "conflict", llama(True), "unequal")
    plant_shards(tmp_path / "untied", "unequal", flag=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def document(capsys: pytest.CaptureFixture[str], *words: str, code: int) -> Any:
    assert main(["audit", *words, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_the_exit_code_says_whether_something_was_found(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tied,) = document(capsys, "tied", code=0)["models"]
    assert {*tied} >= KEYS
    assert (tied["path"], tied["verdict"], tied["flag"], tied["equal"]) == ("tied", "tied", True, None)
    models = document(capsys, "tied", "conflict", "untied", code=3)["models"]
    assert [model["verdict"] for model in models] == ["tied", "conflict", "untied"]
    (finding,) = models[1]["findings"]
    assert {*finding} >= {"kind", "message"} and finding["kind"] == "conflict"


def test_what_cannot_be_read_is_exit_2_and_hides_nothing_else(
    folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = document(capsys, "nowhere/at/all", code=2)["error"]
    assert error == {"kind": "config", "key": None, "message": "nowhere/at/all: no such file or folder"}
    both = document(capsys, "tied", "nowhere/at/all", code=2)
    assert [len(both["models"]), both["errors"]] == [1, ["nowhere/at/all: no such file or folder"]]
    assert main(["audit", "tied", "nowhere/at/all"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("tied: tied\n")
    assert err == "tiedlm: nowhere/at/all: no such file or folder\n"


def test_one_checkpoint_is_shown_in_full_within_80_columns(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "conflict"]) == 3
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    said = " ".join(out.split())
    for words in ("conflict: conflict", "flag true", "lm_head.weight, 37 x 8 F32, in model.safetensors", "different"):
        assert words in said
    assert "transformers 4 tied to the input embedding: the stored head is thrown away" in said
    assert "transformers 5 two matrices as stored, with a warning" in said
    assert "If the head was trained, set tie_word_embeddings to false" in said


@pytest.mark.parametrize(("columns", "is_table"), [("80", True), ("40", False)])
def test_several_are_a_table_or_where_it_is_too_wide_blocks(
    columns: str, is_table: bool, folders: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["audit", "tied", "conflict", "untied"]) == 3
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= int(columns)
    line = re.search(r"^conflict +conflict +true +both +different +1$", out, flags=re.MULTILINE)
    assert (line is not None) == is_table


def test_names_in_a_checkpoint_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = plant(tmp_path / "a", llama(True), "unequal", ("\x1b[2Jx.embed_tokens.weight", "lm_head.weight"))
    assert main(["audit", str(folder)]) == 3
    assert "\x1b" not in capsys.readouterr().out


PROGRAM = """
import json, sys, time
from cli.main import main
code = main(["audit", *sys.argv[1:], "--json"])
heavy = {"torch", "transformers", "scipy", "numpy", "safetensors", "huggingface_hub"} & {*sys.modules}
print(json.dumps([code, sorted(heavy)]), file=sys.stderr)
"""


def test_safetensors_are_audited_without_torch_or_any_other_large_library(folders: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "tied", "conflict", "untied"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert json.loads(done.stderr) == [3, []]
    assert len(json.loads(done.stdout)["models"]) == 3


def test_a_file_of_torch_is_read_by_torch(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    torch.save({name: torch.from_numpy(each) for name, each in tensors("input").items()}, "tied/pytorch_model.bin")
    (model,) = document(capsys, "tied/pytorch_model.bin", code=0)["models"]
    assert model["stored"]["input"]["dtype"] == "float32"
