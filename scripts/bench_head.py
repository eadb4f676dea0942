"""The vocabulary head alone, value and gradients: called by `bench_head`.

ms: median of interleaved rounds. x full: how many times as fast as over full logits at the same precision. GFLOP/s:
6 N D V over the time; share: of what a matrix product reaches in the same rounds. MiB: what the peak grows by, the two
gradients with it, in a fresh process on a CPU. Errors are relative, against float64: of the loss, of the gradient by
hidden states (dH) and by the weight (dW). linear_cross_entropy is torch's own in chunks and no source of a number.
"""
# ruff: noqa: T201 (its output is what it prints)

import argparse
import json
import subprocess
import sys
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


CASES = {
    "S": Case(2048, 256, 8192),
    "M-512": Case(512, 768, 50_257),
    "M-2048": Case(2048, 768, 50_257),
    "tiny": Case(48, 16, 97),
}


class Bench:
    """What is measured, and how."""

    def __init__(self, device: torch.device, chunk_sizes: Sequence[int], *, compiled: bool = False) -> None:
        self.device, self.chunk_sizes, self.compiled = device, tuple(chunk_sizes), compiled
        self.ways = ways(self.chunk_sizes, compiled=compiled)

    def lines(self, case: Case, precision: str, rounds: int, *, memory: bool) -> Iterator[str]:
        """The rows of a case at a precision."""
        inputs, product = case.draw(self.device), Product(precision, self.device)
        right = reference(inputs)
        errors = {way.name: self.errors(way, inputs, precision, right) for way in self.ways}  # which warms up, too
        del right
        actions = {way.name: partial(way.gradients, inputs, precision) for way in self.ways if errors[way.name]}
        taken = medians({PRODUCT: product, **actions}, rounds, self.device)
        speed = product.flops / taken[PRODUCT]
        yield f"{precision:<6}{PRODUCT:<23}{1e3 * taken[PRODUCT]:>9.1f}{'':>8}{speed / 1e9:>9,.0f}"
        for way in self.ways:
            seconds = taken.get(way.name)
            if seconds is None:
                yield f"{precision:<6}{way.name:<23}  out of memory"
                continue
            ratio = f"{taken[FULL] / seconds:.2f}" if FULL in taken else ""
            own, grown = inputs.flops / seconds, self.growth(case, way, precision) if memory else None
            yield (
                f"{precision:<6}{way.name:<23}{1e3 * seconds:>9.1f}{ratio:>8}{own / 1e9:>9,.0f}{own / speed:>7.0%}"
                f"{'' if grown is None else f'{grown / MIB:,.0f}':>8}"
                f"{''.join(f'{error:>10.1e}' for error in errors[way.name])}"
            )

    def errors(self, way: Way, inputs: Inputs, precision: str, right: Gradients) -> tuple[float, ...]:
        """Against the right ones; nothing where it does not fit into memory."""
        try:
            return relative_errors(way.gradients(inputs, precision), right)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            return ()

    def growth(self, case: Case, way: Way, precision: str) -> int | None:
        """Bytes that the peak grows by; of a process on a CPU, where much is kept that was freed, a fresh one."""
        if self.device.type == "cuda":
            return self.growth_here(case, way, precision)
        request = {"case": vars(case), "way": way.name, "precision": precision, "threads": torch.get_num_threads()}
        request |= {"chunk_sizes": self.chunk_sizes, "compiled": self.compiled}
        command = [sys.executable, __file__, "--alone", json.dumps(request)]
        return int(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))

    def growth_here(self, case: Case, way: Way, precision: str) -> int | None:
        """The same, in this process."""
        tiny, inputs = CASES["tiny"].draw(self.device), case.draw(self.device)
        way.gradients(tiny, precision)  # so that libraries and threads are no part of it
        before = torch.cuda.memory_allocated(self.device) if self.device.type == "cuda" else host_rss()
        reset_peaks(self.device)
        way.gradients(inputs, precision)
        peaks = read_peaks(self.device)
        after = peaks.gpu_allocated if self.device.type == "cuda" else peaks.host_rss
        return None if before is None or after is None else after - before


def alone(request: str) -> None:
    """In a process of its own: how far it grows."""
    asked = json.loads(request)
    torch.set_num_threads(asked["threads"])
    bench = Bench(torch.device("cpu"), asked["chunk_sizes"], compiled=asked["compiled"])
    found = next(way for way in bench.ways if way.name == asked["way"])
    print(json.dumps(bench.growth_here(Case(**asked["case"]), found, asked["precision"])))


def main(arguments: list[str] | None = None) -> None:
    """Print a table for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", nargs="+", choices=CASES, default=["S", "M-512", "M-2048"])
    parser.add_argument("--precision", nargs="+", choices=("fp32", "bf16"), default=["fp32", "bf16"])
    parser.add_argument("--chunk-rows", nargs="+", type=int, default=[128, 256, 512], help="default: %(default)s")
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
    bench = Bench(device, asked.chunk_rows, compiled=asked.compile)
    print(f"{machine_in_words(device)}, {' and '.join(asked.precision)}, {asked.rounds} rounds")
    for name in asked.case:
        case = CASES[name]
        gradients = 4 * case.dim * (case.num_rows + case.vocab_size)
        print(
            f"\n{name}: N={case.num_rows:,} D={case.dim} V={case.vocab_size:,}; the two gradients are "
            f"{gradients / MIB:,.0f} MiB, full fp32 logits {4 * case.num_rows * case.vocab_size / MIB:,.0f} MiB"
        )
        heads = f"{'ms':>9}{'x full':>8}{'GFLOP/s':>9}{'share':>7}{'MiB':>8}{'loss':>10}{'dH':>10}{'dW':>10}"
        print(f"{'':<6}{'head':<23}{heads}")
        for precision in asked.precision:
            for line in bench.lines(case, precision, asked.rounds, memory=not asked.no_memory):
                print(line, flush=True)


if __name__ == "__main__":
    main()
