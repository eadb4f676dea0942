"""The benchmark for a GPU, all of it but the compiler, on a CPU."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from tiedlm.kernels import nll as head

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("steps")


def test_it_goes_through_everything(steps: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    bench = importlib.import_module("bench_gpu")
    assert bench.main(["--device", "cpu", "--small"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 100
    assert "left out" not in out and "broke off" not in out and "Error" not in out
    sections = [section.splitlines() for section in out.split("\n\n")]
    first, product, small, more_words, *heads, again = sections[:-1] if not sections[-1] else sections
    assert torch.__version__ in first[0] and "bf16" in first[0]
    assert product[0].startswith("matrix product, bf16") and again[0].startswith("matrix product, bf16")
    for section in (small, more_words):
        losses = {row[:22].strip(): row.split()[-1] for row in section if " eager " in row and "over" not in row}
        assert list(losses) == ["untied full eager", "tied full eager", "tied lean eager", "untied lean eager"]
        for tying in ("tied", "untied"):
            lean, full = (float(losses[f"{tying} {name} eager"]) for name in ("lean", "full"))
            assert lean == pytest.approx(full, abs=2e-3), "the same model, whichever way its head is computed"
        assert losses["tied lean eager"] != losses["untied lean eager"]
        assert any(row.startswith("time, lean over full: tied eager") for row in section)
    assert [section[0].split(":")[0] for section in heads] == 2 * ["heads alone"]


def test_without_a_gpu_that_is_said(
    steps: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert importlib.import_module("bench_gpu").main([]) == 2
    assert "no CUDA device" in capsys.readouterr().err


def tiny(steps: ModuleType, **changes: object) -> object:
    values: dict[str, object] = {"seq_len": 16, "dim": 32, "num_layers": 1, "num_heads": 2, "batch_sizes": (2,)}
    return steps.Shape("tiny", 97, **values | changes)


def test_the_largest_batch_that_fits_is_found(steps: ModuleType) -> None:
    class Cramped(steps.Stopwatch):  # type: ignore[misc, name-defined]
        def _measured(self, shape: Any, way: Any, batch_size: int) -> Any:
            if batch_size > 2:
                torch.empty(2**50)  # more than there are addresses: the allocator itself refuses
            return super()._measured(shape, way, batch_size)

    stopwatch = Cramped(torch.device("cpu"), "fp32", 0.0)
    race = steps.Race(stopwatch, tiny(steps, batch_sizes=(8, 4, 2, 1)), compiles=False)
    rows = dict(race.run(until=float("inf")))
    assert race.batch_size == 2
    assert all(isinstance(measured, steps.Measured) for measured in rows.values()) and len(rows) == 4


def test_what_fails_is_said_and_what_there_is_no_time_for_is_left_out(steps: ModuleType) -> None:
    stopwatch = steps.Stopwatch(torch.device("cpu"), "fp32", 0.0)
    broken = steps.Race(stopwatch, tiny(steps, num_heads=5), compiles=False)
    ((way, words),) = broken.run(until=0.0)
    assert "head_dim" in words and way == steps.Race.WAYS[0]
    assert len(broken.left_out) == 3, "which the moment to stop had come for"
    assert broken.ratios("seconds") == {}


def test_full_logits_that_no_model_asked_for_are_no_measurement(steps: ModuleType) -> None:
    lean = head.objective
    with pytest.raises(AssertionError, match="no model asked"), steps.full_logits(compiled=False):
        assert head.objective is not lean
    assert head.objective is lean


def test_a_part_that_breaks_off_does_not_lose_the_others(steps: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    bench = importlib.import_module("bench_gpu")

    def broken(until: float) -> None:
        raise RuntimeError("no kernel image")

    assert bench.carry_out([(1.0, broken), (1.0, lambda until: iter(["the other"]))], 1.0) == 1
    out = capsys.readouterr().out
    assert "broke off, RuntimeError: no kernel image" in out and "the other" in out


def test_rates_and_ratios_follow_from_what_was_measured(steps: ModuleType) -> None:
    """Of numbers that are easy to work out: 32 windows of 1024 tokens in 65.536 ms are 500,000 tokens a second."""
    bench = importlib.import_module("bench_gpu")
    parts = bench.Parts(torch.device("cpu"), small=True, compiles=True)
    parts.product = 8e14
    race = steps.Race(parts.stopwatch, bench.LARGE[0], compiles=True)
    race.batch_size = 32
    lean, full = (steps.Way("tied", name, compiled=False) for name in (steps.LEAN, steps.FULL))
    race.found = {
        lean: steps.Measured(1.0, 0.065536, 10 << 30, 10.8, 800_000_000),
        full: steps.Measured(1.0, 0.131072, 40 << 30, 10.8, 800_000_000),
        steps.Way("untied", steps.LEAN, compiled=True): "out of memory",
    }
    cells = parts.row(race.shape, 32, lean, race.found[lean]).split()
    assert cells[-5:] == ["500,000", "400.0", "50%", "10,240", "10.8000"]
    said = list(bench.side_by_side(race))
    assert said[0].startswith("memory, lean over full: tied eager 0.25; aim")
    assert said[1] == "time, lean over full: tied eager 0.50"
    assert said[2].startswith("tied lean eager: 500,000 tokens/s; aim on an H200: 520,000")
    assert len(said) == 3
