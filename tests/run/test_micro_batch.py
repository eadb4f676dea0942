"""One micro-batch size for every run: chosen, the whole batch on a CPU, or the largest that fits all."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.small_runs import Heard, environment, small_experiment, small_run
from tiedlm.errors import RunError
from tiedlm.experiment.plan import plan
from tiedlm.run.micro_batch import agree, fits, micro_batch_size

V = 257
WIDE = ("data.seq_len=1024", "model.feed_forward_dim=4096", "model.activation=relu", "training.batch_size=4")
"""A window costs some 60 MB of activations."""


def test_a_cpu_takes_the_whole_batch_and_agrees_on_nothing(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.batch_size=7")
    assert micro_batch_size(run, [], V, Heard()) == 7
    assert not (tmp_path / "runs").exists()


def test_a_size_that_is_chosen_is_taken_whatever_was_agreed(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.batch_size=8", "training.micro_batch_size=3")
    run.layout.experiment_dir.mkdir(parents=True)
    run.layout.micro_batch_file.write_text('{"micro_batch_size": 1}')
    assert micro_batch_size(run, [], V, Heard()) == 3


_PEAKS = """
import json, sys
from tiedlm.run.config import RunConfig
from tiedlm.run.micro_batch import try_two_steps
config = RunConfig.model_validate(json.loads(sys.argv[1]))
for size in (2, 4):
    try_two_steps(config, size, 257)
    print(next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmPeak")))
"""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
"""So that the size of the address space hangs on the batch alone."""


def limited_python(folder: Path, limit: int) -> str:
    """A Python whose address space may not grow beyond `limit` KiB."""
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nulimit -v {limit}\nexec "{sys.executable}" "$@"\n')
    program.chmod(0o755)
    return str(program)


def test_what_does_not_fit_is_halved_for_all_and_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a real limit on memory, between what micro-batches of 2 and of 4 need."""
    tied, untied = plan(small_experiment(tmp_path, *WIDE), tmp_path / "runs")
    command = [sys.executable, "-c", _PEAKS, tied.config.model_dump_json()]
    done = subprocess.run(command, capture_output=True, text=True, env=environment() | ONE_THREAD, check=True)
    two, four = map(int, done.stdout.split())
    assert four - two > 100 << 10
    for name, value in ONE_THREAD.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "executable", limited_python(tmp_path, (two + four) // 2))
    heard = Heard()
    assert agree([tied, untied], V, heard) == 2
    (line,) = heard.lines
    assert "tied" in line and "4 does not fit" in line and "2 for all" in line
    assert json.loads(tied.layout.micro_batch_file.read_text())["micro_batch_size"] == 2


def test_a_variant_that_comes_later_is_tried_too_and_may_only_make_the_size_smaller(tmp_path: Path) -> None:
    """Two single runs of one experiment: the second may not take on trust what was tried of the first."""
    pair = "training.batch_size=2"
    small, large = small_run(tmp_path, pair), small_run(tmp_path, pair, "model.dim=1048576", "model.num_heads=1")
    heard = Heard()
    assert agree([small], V, heard) == 2
    assert agree([small_run(tmp_path, pair, seed=9)], V, heard) == 2
    assert heard.lines == []
    with pytest.raises(RunError, match="not even one window"):
        agree([large], V, heard)
    assert [line for line in heard.lines if "does not fit" in line], "it was tried, from the size agreed downwards"
    assert agree([small], V, heard) == 2


def test_a_model_that_no_memory_holds_does_not_fit_and_one_window_is_the_least(tmp_path: Path) -> None:
    settings = ("training.batch_size=1", "model.dim=1048576", "model.num_heads=1")
    runs = plan(small_experiment(tmp_path, *settings), tmp_path / "runs")
    with pytest.raises(RunError, match="not even one window") as error:
        agree(runs, V, Heard())
    assert error.value.kind == "out_of_memory"
    assert not runs[0].layout.micro_batch_file.exists()


def test_a_trial_that_diverges_fits(tmp_path: Path) -> None:
    wild = small_run(tmp_path, "training.learning_rate=1e38", "training.max_grad_norm=null")
    assert fits(wild.config, 4, V)
