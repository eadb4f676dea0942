"""Peaks are those of this process, since the last reset; missing is None."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.support.small_runs import carry_out, shared_cache, small_run
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.process import run_in_child
from tiedlm.training.memory import host_peak_rss, is_out_of_memory, read_peaks

MB = 1 << 20


def in_a_child(program: str, inherited: int = 0) -> list[int]:
    """What `program` prints, as whole numbers, run by a process that holds `inherited` MB."""
    weight = b"\1" * (inherited * MB)
    head = "import torch\nfrom tiedlm.training.memory import host_peak_rss as peak, reset_peaks\n"
    done = subprocess.run([sys.executable, "-c", head + program], capture_output=True, text=True, check=True)
    assert len(weight) == inherited * MB
    return [int(word) for word in done.stdout.split()]


def test_m01_the_peak_rises_with_what_is_allocated_stays_when_it_is_freed_and_starts_anew_with_a_run() -> None:
    before, held, freed, anew = in_a_child(
        "print(peak()); x = bytearray(b'1') * (200 << 20); print(peak()); del x; print(peak());"
        "reset_peaks(torch.device('cpu')); print(peak())",
        inherited=900,
    )
    assert before < 900 * MB, "the parent's peak is not the child's"
    assert 195 * MB < held - before < 260 * MB
    assert freed >= held - MB
    assert anew < freed - 150 * MB


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU; of the CPU the test above holds the same")
@pytest.mark.parametrize("order", [("tied", "untied"), ("untied", "tied")])
def test_m01_on_a_gpu_each_run_has_the_peak_that_it_has_alone(tmp_path: Path, order: tuple[str, str]) -> None:
    """One after the other in one process, where the allocator keeps what the first one had."""
    wide, alone = ("model.dim=512", "training.device=cuda"), {}
    for variant in order:
        run = small_run(tmp_path, *wide, variant=variant, runs="alone")
        run_in_child(run, cache_dir=shared_cache(), fresh=False, prefix="", siblings=[])
        alone[variant] = peak_of(run)
    for variant in order:
        run = small_run(tmp_path, *wide, variant=variant, runs="together")
        carry_out(run)
        assert peak_of(run) == pytest.approx(alone[variant], rel=0.01), variant


def peak_of(run: Run) -> int:
    result = RunFolder(run.directory).result()
    assert result is not None and result.memory.gpu_peak_allocated_bytes is not None
    return result.memory.gpu_peak_allocated_bytes


def test_the_peak_is_in_bytes() -> None:
    peak = host_peak_rss()
    assert peak is not None
    assert 50 * MB < peak < (1 << 50)


def test_without_a_gpu_its_peaks_are_missing_and_not_zero() -> None:
    peaks = read_peaks(torch.device("cpu"))
    assert (peaks.gpu_allocated, peaks.gpu_reserved) == (None, None)
    assert peaks.host_rss == host_peak_rss()


def test_an_allocator_that_refuses_is_told_from_other_errors() -> None:
    with pytest.raises(RuntimeError) as refused:
        torch.empty(2**50)  # more than there are addresses
    assert is_out_of_memory(refused.value)
    with pytest.raises(MemoryError) as refused_by_python:
        bytearray(2**60)
    assert is_out_of_memory(refused_by_python.value)
    with pytest.raises(RuntimeError) as other:
        torch.zeros(2) @ torch.zeros(3)
    assert not is_out_of_memory(other.value)
