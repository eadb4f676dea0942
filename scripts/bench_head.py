"""The vocabulary head alone, value and gradients: called by `bench_head`.

ms: median of interleaved rounds. x full: how many times as fast as over full logits at the same precision. GFLOP/s:
6 N D V over the time; share: of what a matrix product reaches in the same rounds. MiB: what the peak grows by, the two
gradients with it, in a fresh process on a CPU. Errors are relative, against float64: of the loss, of the gradient by
hidden states (dH) and by the weight (dW). linear_cross_entropy is torch's own in chunks and no source of a number.
"""
# ruff: noqa: T201 (its output is what it prints)

import argparse
import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from heads import FULL, Gradients, Inputs, Way, reference, relative_errors, ways
from timing import Product, machine_in_words, medians

from tiedlm.training.memory import host_rss, is_out_of_memory, read_peaks, reset_peaks

MIB = 2**20
PRODUCT = "matrix product"


@dataclass(frozen=True)
class Case:
    """N rows at once, of width D, over a vocabulary of V."""

    num_rows: int
    dim: int
    vocab_size: int

    def draw(self, device: torch.device) -> Inputs:
        return Inputs.draw(self.num_rows, self.dim, self.vocab_size, device)


HEADER = (
    f"{'':<6}{'head':<23}{'ms':>9}{'x full':>8}{'GFLOP/s':>9}{'share':>7}{'MiB':>8}{'loss':>10}{'dH':>10}{'dW':>10}"
)


def title(name: str, case: Case) -> str:
    """Its sizes, and what is to be held against the memory that a head takes."""
    gradients, logits = case.dim * (case.num_rows + case.vocab_size), case.num_rows * case.vocab_size
    return (
        f"{name}: N={case.num_rows:,} D={case.dim} V={case.vocab_size:,}; the two gradients are "
        f"{4 * gradients / MIB:,.0f} MiB, full fp32 logits {4 * logits / MIB:,.0f} MiB"
    )


CASES = {
    "S": Case(2048, 256, 8192),
    "M-512": Case(512, 768, 50_257),
    "M-2048": Case(2048, 768, 50_257),
    "tiny": Case(48, 16, 97),
}


class Bench:
    """What is measured, and how."""

    def __init__(
        self, device: torch.device, chunk_sizes: Sequence[int], *, compiled: bool = False, only: Sequence[str] = ("",)
    ) -> None:
        self.device, self.chunk_sizes, self.compiled = device, tuple(chunk_sizes), compiled
        found = ways(self.chunk_sizes, device, compiled=compiled)
        self.ways = [way for way in found if any(word in way.name for word in only)]

    def lines(self, case: Case, precision: str, rounds: int, *, memory: bool, until: float = math.inf) -> Iterator[str]:
        """The rows of a case at a precision; what is not begun `until` then is left out."""
        inputs, product = case.draw(self.device), Product(precision, self.device)
        right = reference(inputs)
        tried = [(way, self.errors(way, inputs, precision, right)) for way in self.ways if time.monotonic() < until]
        del right
        actions = {
            way.name: partial(way.gradients, inputs, precision) for way, errors in tried if not isinstance(errors, str)
        }
        taken = medians({PRODUCT: product, **actions}, rounds, self.device, until)
        speed = product.flops / taken[PRODUCT]
        yield f"{precision:<6}{PRODUCT:<23}{1e3 * taken[PRODUCT]:>9.1f}{'':>8}{speed / 1e9:>9,.0f}"
        for way, errors in tried:
            if isinstance(errors, str):
                yield f"{precision:<6}{way.name:<23}  {errors[:69]}"
                continue
            seconds = taken[way.name]
            ratio = f"{taken[FULL] / seconds:.2f}" if FULL in taken else ""
            own, grown = inputs.flops / seconds, self.growth(case, way, inputs, precision) if memory else None
            yield (
                f"{precision:<6}{way.name:<23}{1e3 * seconds:>9.1f}{ratio:>8}{own / 1e9:>9,.0f}{own / speed:>7.0%}"
                f"{'' if grown is None else f'{grown / MIB:,.0f}':>8}"
                f"{''.join(f'{error:>10.1e}' for error in errors)}"
            )
        if late := self.ways[len(tried) :]:
            yield f"left out, the time being up: {', '.join(way.name for way in late)}"

    def errors(self, way: Way, inputs: Inputs, precision: str, right: Gradients) -> tuple[float, ...] | str:
        """Against the right ones, by a first call, which warms up too; in words what went wrong where something did."""
        try:
            return relative_errors(way.gradients(inputs, precision), right)
        except Exception as error:  # noqa: BLE001 (whatever it is, the others have their rows all the same)
            return "out of memory" if is_out_of_memory(error) else " ".join(f"{type(error).__name__}: {error}".split())

    def growth(self, case: Case, way: Way, inputs: Inputs, precision: str) -> int | None:
        """Bytes that the peak grows by; on a CPU, whose processes keep what was freed, in a fresh one."""
        if self.device.type == "cuda":
            return growth_here(way, inputs, precision)
        request = {"case": vars(case), "way": way.name, "precision": precision, "threads": torch.get_num_threads()}
        request |= {"chunk_sizes": self.chunk_sizes, "compiled": self.compiled}
        command = [sys.executable, __file__, "--alone", json.dumps(request)]
        grown = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return None if grown is None else int(grown)


def growth_here(way: Way, inputs: Inputs, precision: str) -> int | None:
    """Bytes that the peak of this process, or of the GPU's allocator, grows by; libraries are to be loaded before."""
    device = inputs.hidden.device
    before = torch.cuda.memory_allocated(device) if device.type == "cuda" else host_rss()
    reset_peaks(device)
    way.gradients(inputs, precision)
    peaks = read_peaks(device)
    after = peaks.gpu_allocated if device.type == "cuda" else peaks.host_rss
    return None if before is None or after is None else after - before


def alone(request: str) -> None:
    """In a process of its own: how far it grows."""
    asked = json.loads(request)
    torch.set_num_threads(asked["threads"])
    cpu, precision = torch.device("cpu"), asked["precision"]
    bench = Bench(cpu, asked["chunk_sizes"], compiled=asked["compiled"])
    found = next(way for way in bench.ways if way.name == asked["way"])
    found.gradients(CASES["tiny"].draw(cpu), precision)  # so that libraries and threads are no part of it
    print(json.dumps(growth_here(found, Case(**asked["case"]).draw(cpu), precision)))


def main(arguments: list[str] | None = None) -> None:
    """Print a table for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", nargs="+", choices=CASES, default=["S", "M-512"], help="default: S M-512")
    parser.add_argument("--precision", nargs="+", choices=("fp32", "bf16"), default=["fp32", "bf16"])
    parser.add_argument("--chunk-rows", nargs="+", type=int, default=[128, 256, 512], help="default: %(default)s")
    parser.add_argument("--heads", nargs="+", default=[""], help="only those with one of these words in their names")
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, help="of the CPU (default: as torch has it)")
    parser.add_argument("--compile", action="store_true", help="compiled ones too (slow to compile on a CPU)")
    parser.add_argument("--no-memory", action="store_true", help="leave memory out")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.alone:
        alone(asked.alone)
        return
    if asked.threads:
        torch.set_num_threads(asked.threads)
    device = torch.device(asked.device)
    bench = Bench(device, asked.chunk_rows, compiled=asked.compile, only=asked.heads)
    print(f"{machine_in_words(device)}, {' and '.join(asked.precision)}, {asked.rounds} rounds")
    for name in asked.case:
        print(f"\n{title(name, CASES[name])}\n{HEADER}")
        for precision in asked.precision:
            for line in bench.lines(CASES[name], precision, asked.rounds, memory=not asked.no_memory):
                print(line, flush=True)


if __name__ == "__main__":
    main()
