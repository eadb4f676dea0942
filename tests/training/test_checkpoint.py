"""Checkpoints: whole or not there, the newest valid one first."""

import hashlib
import json
import math
import os
import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

from tests.support.small_runs import Heard
from tiedlm.config.base import parse
from tiedlm.data.batches import Batches
from tiedlm.errors import RunError
from tiedlm.model.config import TransformerConfig
from tiedlm.model.language_model import build_model
from tiedlm.talk import SILENT
from tiedlm.training.checkpoint import Snapshot, load_newest, load_step, rotate, save, validated, whats_wrong
from tiedlm.training.config import TrainingConfig
from tiedlm.training.machine import resolve_machine
from tiedlm.training.trainer import Trainer

V, T = 97, 32


def tiny(tying: str = "tied", seed: int = 0) -> Trainer:
    recipe = {"steps": 20, "batch_size": 4, "learning_rate": 1e-2, "precision": "fp32", "device": "cpu"}
    config = parse(TrainingConfig, recipe)
    shape = {"num_layers": 2, "dim": 16, "num_heads": 2, "tying": {"type": tying}}
    model = build_model(parse(TransformerConfig, shape), V, T)
    model.initialize(seed)
    ids = np.random.default_rng(1).integers(0, V, 700).astype(np.uint16)
    batches = Batches(ids, T, 4, seed)
    return Trainer(model, batches, config, resolve_machine(config), num_steps=20, micro_batch_size=4, seed=seed)


def snapshot(step: int, value: float = 0.0) -> Snapshot:
    """A small one, told from others by its values."""
    return Snapshot(step, {"w": torch.full((64,), value)}, {"state": {0: torch.ones(8)}}, {"step": step}, "abc")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def forge(path: Path, content: bytes) -> None:
    """Replace a file of a checkpoint, and make the manifest agree with it."""
    path.write_bytes(content)
    manifest = json.loads((path.parent / "manifest.json").read_text())
    manifest[path.name] = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    (path.parent / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(("tying", "num_matrices"), [("tied", 1), ("untied", 2)])
def test_t01_the_file_holds_a_shared_matrix_once_and_loads_as_it_was(
    tmp_path: Path, tying: str, num_matrices: int
) -> None:
    some = tiny(tying)
    some.advance(), some.advance()
    path = save(tmp_path, some.snapshot(), keep_last=2)
    with safe_open(path / "model.safetensors", "pt") as file:
        shapes = [tuple(file.get_slice(name).get_shape()) for name in file.keys()]  # noqa: SIM118 (no mapping)
    assert shapes.count((V, 16)) == num_matrices

    again, found = tiny(tying, seed=9), load_newest(tmp_path, SILENT)
    assert found is not None
    again.restore(found)
    ids = torch.arange(T).unsqueeze(0)
    with torch.no_grad():
        assert torch.equal(some.model.logits(ids), again.model.logits(ids))
    one, other = again.model.tying.embed(torch.arange(V)), again.model.tying.output_weight()
    assert torch.equal(one, other) == (tying == "tied")
    with torch.no_grad():
        again.model.tying.output_weight()[5] += 1
    moved = not torch.equal(one[5], again.model.tying.embed(torch.tensor([5]))[0])
    assert moved == (tying == "tied"), "shared again: what one side changes the other sees"


def test_what_is_loaded_is_what_was_saved(tmp_path: Path) -> None:
    some = tiny()
    some.advance()
    saved = some.snapshot()
    saved.tokens_sha256 = "abc"
    save(tmp_path, saved, keep_last=1)
    found = load_newest(tmp_path, SILENT)
    assert found is not None
    assert (found.step, found.progress, found.tokens_sha256) == (1, saved.progress, "abc")
    assert all(torch.equal(found.weights[name], tensor) for name, tensor in saved.weights.items())
    assert found.optimizer["param_groups"] == saved.optimizer["param_groups"]
    for key, state in saved.optimizer["state"].items():
        assert all(torch.equal(found.optimizer["state"][key][name], value) for name, value in state.items())
    without = load_newest(tmp_path, SILENT, optimizer=False)
    assert without is not None
    assert (without.optimizer, without.progress) == ({}, saved.progress)


def test_the_last_ones_are_kept_by_number(tmp_path: Path) -> None:
    for step in (8, 9, 10, 11):
        save(tmp_path, snapshot(step), keep_last=2)
    assert names(tmp_path) == ["step-10", "step-11"]
    save(tmp_path, snapshot(100), keep_last=3)
    assert names(tmp_path) == ["step-10", "step-100", "step-11"]
    found = load_newest(tmp_path, SILENT)
    assert found is not None
    assert found.step == 100


def test_the_files_have_the_permissions_that_the_user_gives_to_files(tmp_path: Path) -> None:
    """The library that writes the weights would keep them from everybody else."""
    before = os.umask(0o027)
    try:
        path = save(tmp_path, snapshot(1), keep_last=1)
    finally:
        os.umask(before)
    assert {file.stat().st_mode & 0o777 for file in path.iterdir()} == {0o640}


def scored(step: int, score: float | None) -> Snapshot:
    return replace(snapshot(step), validation=score)


def test_the_best_in_validation_stays_whatever_its_number(tmp_path: Path) -> None:
    for step, score in ((8, 3.0), (9, 2.0), (10, None), (11, 2.5), (100, 2.5)):
        save(tmp_path, scored(step, score), keep_last=1)
    assert names(tmp_path) == ["step-100", "step-9"]
    assert validated(tmp_path) == {9: 2.0, 100: 2.5}
    best, newest = load_step(tmp_path, 9, SILENT), load_newest(tmp_path, SILENT)
    assert best is not None and newest is not None
    assert (best.step, best.validation, newest.step) == (9, 2.0, 100), "what is gone on from is the newest"
    assert load_step(tmp_path, 10, SILENT) is None
    save(tmp_path, scored(101, 1.5), keep_last=1)
    assert names(tmp_path) == ["step-101"], "there is one best"
    (tmp_path / "step-101" / "progress.json").write_text("no JSON")
    save(tmp_path, scored(102, 4.0), keep_last=1)
    assert names(tmp_path) == ["step-102"], "what is damaged is the best of nothing"


def test_a_rotation_that_was_broken_off_is_made_up_for(tmp_path: Path) -> None:
    for step in (1, 2, 3, 4):
        save(tmp_path, snapshot(step), keep_last=9)
    rotate(tmp_path, 3, keep_last=2)
    assert names(tmp_path) == ["step-2", "step-3"]
    rotate(tmp_path / "nowhere", 3, keep_last=2)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_weights_that_are_not_finite_are_never_saved(tmp_path: Path, value: float) -> None:
    save(tmp_path, snapshot(3), keep_last=1)
    with pytest.raises(RunError, match="after step 4 w is not finite") as error:
        save(tmp_path, snapshot(4, value), keep_last=1)
    assert (error.value.kind, error.value.step) == ("diverged", 4)
    assert names(tmp_path) == ["step-3"]


def test_there_is_nothing_to_load_where_nothing_was_saved(tmp_path: Path) -> None:
    assert load_newest(tmp_path, SILENT) is None
    assert load_newest(tmp_path / "nowhere", SILENT) is None


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [truncate, flip, Path.unlink, lambda file: file.write_bytes(b"[]")])
@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.pt", "progress.json", "manifest.json"])
def test_l10_a_damaged_newest_one_is_named_and_the_one_before_is_loaded(tmp_path: Path, name: str, damage: Any) -> None:
    for step in (9, 10):
        save(tmp_path, snapshot(step, value=step), keep_last=2)
    assert whats_wrong(tmp_path / "step-10") is None
    damage(tmp_path / "step-10" / name)
    heard = Heard()
    found = load_newest(tmp_path, heard)
    if damage is flip and name == "manifest.json":  # a flipped bit may leave JSON that says the same
        assert found is not None
        return
    assert found is not None
    assert (found.step, float(found.weights["w"][0])) == (9, 9.0)
    assert len(heard.lines) == 1
    assert str(tmp_path / "step-10") in heard.lines[0]
    assert name in heard.lines[0]


def test_one_that_was_passed_over_does_not_crowd_out_what_is_saved_next(tmp_path: Path) -> None:
    for step in (3, 6, 9):
        save(tmp_path, snapshot(step), keep_last=3)
    for step in (6, 9):
        truncate(tmp_path / f"step-{step}" / "model.safetensors")
    save(tmp_path, snapshot(4), keep_last=1)
    assert names(tmp_path) == ["step-4"]


def test_one_that_is_damaged_is_replaced_when_its_step_comes_again(tmp_path: Path) -> None:
    save(tmp_path, snapshot(3, value=1), keep_last=2)
    truncate(tmp_path / "step-3" / "optimizer.pt")
    save(tmp_path, snapshot(3, value=2), keep_last=2)
    found = load_newest(tmp_path, SILENT)
    assert found is not None
    assert found.weights["w"][0] == 2


class Planted:
    """Unpickled by the rules, it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("how", ["torch", "plain"])
def test_a_planted_pickle_is_refused_and_never_run(tmp_path: Path, how: str) -> None:
    folder, trap = tmp_path / "checkpoints", tmp_path / "trap"
    for step in (1, 2):
        save(folder, snapshot(step), keep_last=2)
    torch.save(Planted(trap), tmp_path / "planted")
    content = (tmp_path / "planted").read_bytes() if how == "torch" else pickle.dumps(Planted(trap), protocol=2)
    forge(folder / "step-2" / "optimizer.pt", content)
    assert whats_wrong(folder / "step-2") is None, "by size and hash it is fine"
    heard = Heard()
    found = load_newest(folder, heard)
    assert found is not None
    assert found.step == 1
    assert not trap.exists()
    assert "optimizer.pt" in heard.lines[0]
    assert "never loaded" in heard.lines[0]


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.pt", "progress.json"])
def test_what_cannot_be_read_though_its_hash_fits_is_passed_over(tmp_path: Path, name: str) -> None:
    for step in (1, 2):
        save(tmp_path, snapshot(step), keep_last=2)
    forge(tmp_path / "step-2" / name, b'{"a": 1}')
    heard = Heard()
    found = load_newest(tmp_path, heard)
    assert found is not None
    assert (found.step, len(heard.lines)) == (1, 1)


def test_a_place_that_cannot_be_written_is_named_and_nothing_partial_is_left(tmp_path: Path) -> None:
    save(tmp_path, snapshot(1), keep_last=2)
    (tmp_path / "step-2").write_text("a file in the way")
    with pytest.raises(RunError) as error:
        save(tmp_path, snapshot(2), keep_last=2)
    assert error.value.kind == "disk"
    assert str(tmp_path / "step-2") in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    assert names(tmp_path) == ["step-1", "step-2"]
    assert whats_wrong(tmp_path / "step-1") is None


_SAVE_FOR_EVER = """
import itertools, sys, torch
from pathlib import Path
from tiedlm.training.checkpoint import Snapshot, save
weights = {f"w{i}": torch.rand(256, 256) for i in range(8)}
for step in itertools.count(1):
    save(Path(sys.argv[1]), Snapshot(step, weights, {"state": weights}, {"step": step}), keep_last=2)
    print(step, flush=True)
"""


def test_l10_killed_at_any_moment_what_has_a_final_name_is_whole(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _SAVE_FOR_EVER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(5)]
        child.send_signal(signal.SIGKILL)
        said += child.stdout.read().splitlines()
    final = [path for path in tmp_path.iterdir() if not path.name.startswith(".")]
    assert final
    assert [whats_wrong(path) for path in final] == [None] * len(final)
    found = load_newest(tmp_path, SILENT)
    assert found is not None
    assert found.step >= int(said[-1])
    (tmp_path / ".step-77.part").mkdir(exist_ok=True)  # what such a death can leave
    save(tmp_path, snapshot(found.step + 1), keep_last=1)
    assert names(tmp_path) == [f"step-{found.step + 1}"]
