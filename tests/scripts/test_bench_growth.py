"""What a step costs stands beside the formulas that say what it must cost."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from tiedlm.run import probe
from tiedlm.run.probe import Taken

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"
MIB = 2**20


@pytest.fixture
def growth(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("bench_growth")


def test_it_measures_a_size_changed_and_says_how_much_came_on_top(
    growth: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here in this process: that a probe has one of its own is tested elsewhere."""
    monkeypatch.setattr(growth, "TYINGS", ("untied",))
    monkeypatch.setattr(growth, "measure", probe.measure_here)
    small = ["--seq-len", "8", "--dim", "32", "--num-layers", "1", "--precision", "fp32", "--device", "cpu"]
    growth.main(["--over", "vocab-size", "--values", "16_384", *small, "--steps", "4"])
    first, _, header, row = capsys.readouterr().out.splitlines()
    assert "fp32" in first and "D=32" in first
    assert len(header) == len(row) <= 100
    cells = dict(zip(header.split(), row.replace(",", "").split(), strict=True))
    assert (cells["V"], cells["T"], cells["B"], cells["tying"]) == ("16384", "8", "4", "untied")
    matrices = 16 * 2 * 16_384 * 32 / MIB
    assert float(cells["matrices"]) == matrices
    assert float(cells["head"]) == pytest.approx(6 * 32 * 16_384 * 32 / 1e9, abs=0.05)
    assert float(cells["beyond"]) == pytest.approx(float(cells["peak"]) - float(cells["stays"]), abs=1.5)


def line(growth: ModuleType, batch_size: int, peak: int, num_parameters: int) -> object:
    taken = Taken(
        host_growth_bytes=peak, gpu_peak_allocated_bytes=None, gpu_peak_reserved_bytes=None, tokens_per_second=512.0
    )
    sizes = growth.Sizes(vocab_size=MIB, seq_len=16, batch_size=batch_size)
    return growth.Line(sizes, "tied", num_parameters, 100, taken)


def test_what_does_not_grow_with_the_logits_is_told_from_what_they_would_take(growth: ModuleType) -> None:
    stays = MIB
    one, four = (line(growth, size, 16 * stays + more * MIB, stays) for size, more in ((1, 10), (4, 13)))
    assert growth.grown("batch-size", "tied", one, four) == (
        "tied, batch-size 1 to 4: beyond what stays 3 MiB more; logits would be 192 more"
    )


def test_where_no_memory_was_measured_none_is_shown(growth: ModuleType) -> None:
    missing = Taken(
        host_growth_bytes=None, gpu_peak_allocated_bytes=None, gpu_peak_reserved_bytes=None, tokens_per_second=None
    )
    unknown = growth.Line(growth.Sizes(), "tied", 1000, 100, missing)
    assert unknown.beyond_bytes is None
    assert len(unknown.row()) == len(growth.HEADER)
    assert growth.grown("seq-len", "tied", unknown, unknown) == "tied: no memory was measured"
