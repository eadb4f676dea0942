"""Verifying finds figures that were made of runs that are not alike, and a run whose text is not the one it names."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.main import main
from tests.support.finished_runs import store_run
from tests.support.small_runs import carry_out, small_experiment, small_run
from tiedlm.comparison.gather import gather
from tiedlm.comparison.verify import verify
from tiedlm.experiment.plan import plan


@pytest.fixture
def home(tmp_path: Path) -> Path:
    draw = np.random.default_rng(0)
    for run in plan(small_experiment(tmp_path, "seeds=[0, 1]"), tmp_path / "runs"):
        store_run(run, draw)
    folder = tmp_path / "runs" / "small"
    gather([folder])
    return folder


def edit(path: Path, change: Callable[[Any], None]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_figures_of_seeds_on_two_texts_do_not_hold(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(home).failed == []
    for file in home.glob("*/seed-1/result.json"):
        edit(file, lambda document: document["hashes"].update(corpus="0ther", tokens="0ther"))
    (found,) = [fault for fault in verify(home).failed if fault.key == "variants"]
    assert found.file == "comparison.json" and found.stored == "pooled"
    assert "tied seed 0, untied seed 0) against " in str(found.recomputed)
    assert main(["verify", str(home)]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "the runs are not alike" in shown and "tied seed 1, untied seed 1" in shown


def test_the_text_of_a_run_is_the_one_in_its_result(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    carry_out(run)
    assert verify(run.directory).failed == []
    edit(run.directory / "data.json", lambda document: document.update(tokens="0ther"))
    assert [(fault.file, fault.key) for fault in verify(run.directory).failed] == [("data.json", "tokens")]
