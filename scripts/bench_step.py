"""How fast a training step is and what it takes, beside trainers that a user may pick instead; same shapes, same ids.

Every contender is a process of its own. Speed: they take turns, a round of a few steps each, and the ratio to the plain
loop is formed in each round. Memory: the peak resident size of the process, on the sizes of the memory table.
"""
# ruff: noqa: T201 (its output is what it prints)

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn

from step_contenders import OURS, PRODUCT_SIZE, SHAPES, Gate, Shape, hf_trainer, ours, plain_loop, product

ROOT = Path(__file__).resolve().parent.parent
MIB = 2**20


PLAIN, TRAINER = "plain loop", "HF Trainer"
CONTENDERS = [
    (PLAIN, "fp32"), (TRAINER, "fp32"), (f"{OURS} tied", "fp32"), (f"{OURS} untied", "fp32"),
    (PLAIN, "bf16"), (TRAINER, "bf16"), (f"{OURS} tied", "bf16"), (f"{OURS} untied", "bf16"),
]  # fmt: skip


class Contender:
    """A process that takes steps when it is told to."""

    def __init__(self, kind: str, shape: str, batch_size: int, precision: str, threads: int, root: Path) -> None:
        own = {
            "OMP_NUM_THREADS": str(threads),
            "PYTHONPATH": f"{root}{os.pathsep}{ROOT / 'scripts'}",
            "HF_HUB_OFFLINE": "1",
        }
        arguments = ["--child", kind, "--shapes", shape, "--precision", precision, "--batch-size", str(batch_size)]
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 (as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env={**os.environ, **own},
        )
        self.name = f"{kind} {precision}"

    def take(self, num_steps: int) -> dict[str, Any]:
        """Seconds of each of so many steps, and the peak resident size so far in bytes."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(f"{num_steps}\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._said.seek(0)
            sys.exit(f"{self.name} ended: {(self._said.read().strip().splitlines() or ['without a word'])[-1]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def main() -> None:
    """The tables of every shape asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=["S", "M"])
    parser.add_argument("--rounds", type=int, default=7, help="rounds of the speed table (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=3, help="steps a round (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="default: %(default)s")
    parser.add_argument("--only", default="", help="contenders whose name holds this, and the plain loop")
    parser.add_argument("--no-speed", action="store_true")
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="another checkout of tiedlm to time as well")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--precision", default="fp32", help=argparse.SUPPRESS)
    parser.add_argument("--batch-size", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        run_child(asked.child, SHAPES[asked.shapes[0]], asked.batch_size, asked.precision)
    print(f"{processor()}, {asked.threads} threads, {versions()}")
    for name in asked.shapes:
        if not asked.no_speed:
            speed_table(name, asked)
        if not asked.no_memory:
            memory_table(name, asked)


def contenders(asked: argparse.Namespace) -> list[tuple[str, str, Path]]:
    """Kind, precision and the checkout that is imported."""
    chosen = [(kind, precision, ROOT) for kind, precision in CONTENDERS]
    if asked.beside:
        others = [(kind, precision, asked.beside) for kind, precision in CONTENDERS if OURS in kind]
        chosen = [pair for pair in chosen if pair[0] != PLAIN or pair[1] == "fp32"] + others
    first, *rest = chosen
    return [first, *(pair for pair in rest if asked.only in f"{pair[0]} {pair[1]}")]


def label(kind: str, root: Path) -> str:
    return kind if root == ROOT else f"{kind} ({root.name})"


def speed_table(name: str, asked: argparse.Namespace) -> None:
    """Tokens a second, ratios to the first contender, and the share of what a matrix product reaches."""
    shape = SHAPES[name]
    tokens = shape.batch_size * shape.seq_len
    chosen = contenders(asked)

    def start(kind: str, precision: str, root: Path = ROOT) -> Contender:
        return Contender(kind, name, shape.batch_size, precision, asked.threads, root)

    products = {precision: start("product", precision) for precision in ("fp32", "bf16")}
    started = [start(*each) for each in chosen]
    for contender in [*products.values(), *started]:
        contender.take(3)  # warm-up: allocation, imports, the optimizer's state
    times: list[list[float]] = [[] for _ in started]
    peaks: dict[str, list[float]] = {precision: [] for precision in products}
    for _ in range(asked.rounds):
        for precision, multiplier in products.items():
            peaks[precision].append(2 * PRODUCT_SIZE**3 / min(multiplier.take(5)["seconds"]) / 1e9)
        for found, contender in zip(times, started, strict=True):
            found.append(statistics.median(contender.take(asked.steps)["seconds"]))
    for contender in [*products.values(), *started]:
        contender.close()
    limits = {precision: statistics.median(found) for precision, found in peaks.items()}
    print(f"\nSpeed, {describe(shape, shape.batch_size)}; a product of 2,048 x 2,048 matrices reaches "
          f"{limits['fp32']:,.0f} GFLOP/s in fp32, {limits['bf16']:,.0f} in bf16")  # fmt: skip
    print(f"{'':<30}{'':<6}{'ms a step':>10}{'tokens/s':>10}{'GFLOP/s':>9}{'of limit':>9}{'ratio':>8}{'rounds':>16}")
    for (kind, precision, root), found in zip(chosen, times, strict=True):
        ratios = [first / own for first, own in zip(times[0], found, strict=True)]
        seconds = statistics.median(found)
        rate = shape.flops_per_token() * tokens / seconds / 1e9
        print(f"{label(kind, root):<30}{precision:<6}{seconds * 1e3:>10,.1f}{tokens / seconds:>10,.0f}{rate:>9,.0f}"
              f"{rate / limits[precision]:>9.0%}{statistics.median(ratios):>8.2f}"
              f"{f'{min(ratios):.2f} to {max(ratios):.2f}':>16}")  # fmt: skip


def memory_table(name: str, asked: argparse.Namespace) -> None:
    """Peak resident size of a process that takes three steps, one process at a time."""
    shape = SHAPES[name]
    print(f"\nPeak resident size, {describe(shape, shape.memory_batch_size)}, MiB")
    print(f"{'':<30}{'':<6}{'peak':>10}{'ratio':>8}")
    first = None
    for kind, precision, root in contenders(asked):
        contender = Contender(kind, name, shape.memory_batch_size, precision, asked.threads, root)
        peak = contender.take(3)["peak"] / MIB
        contender.close()
        first = first or peak
        print(f"{label(kind, root):<30}{precision:<6}{peak:>10,.0f}{peak / first:>8.2f}", flush=True)


def describe(shape: Shape, batch_size: int) -> str:
    return (f"{shape.num_layers} layers, D={shape.dim}, T={shape.seq_len}, B={batch_size}, "
            f"V={shape.vocab_size:,}")  # fmt: skip


def processor() -> str:
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text(errors="replace").splitlines() if listing.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    wide = [flag for flag in ("avx512_bf16", "amx_bf16") if flag in flags]
    return f"{names[0] if names else 'unknown processor'} ({', '.join(wide) or 'no bf16 instructions'})"


def versions() -> str:
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in ("torch", "transformers"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            sys.exit(f"{name} is not installed; the peers need it: pip install -e '.[bench]'")
    return ", ".join(found)


# In a contender's own process.


def run_child(kind: str, shape: Shape, batch_size: int, precision: str) -> NoReturn:
    """Take as many steps as each line of stdin asks for; say how long each took."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not come between
    gate = _gate(answers)
    kinds = {"product": product, PLAIN: plain_loop, TRAINER: hf_trainer}
    try:
        kinds.get(kind, partial(ours, kind))(shape, batch_size, precision, gate)
    except EOFError:
        os._exit(0)
    raise AssertionError("a contender has no end of its own")


def _gate(answers: IO[str]) -> Gate:
    waiting = iter(_requests(answers))
    next(waiting)
    return lambda: next(waiting)


def _requests(answers: IO[str]) -> Iterator[None]:
    """Yields once before every step."""
    while line := sys.stdin.readline():
        seconds = []
        for _ in range(int(line)):
            began = time.perf_counter()
            yield
            seconds.append(time.perf_counter() - began)
        answers.write(json.dumps({"seconds": seconds, "peak": _peak()}) + "\n")
        answers.flush()
    raise EOFError


def _peak() -> int:
    """Peak resident size of this process in bytes (ru_maxrss would be inherited from the parent)."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main()
