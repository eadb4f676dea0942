"""How fast and how lean is training on one GPU, with the head as it is and over full logits?

GPT-2 small, and the same body with the words of WikiText-103; made-up ids, bf16, under five minutes in all. Needs torch
2.11 or later and what tiedlm imports of numpy, pydantic, PyYAML and safetensors, but no text.
`--device cpu --small` goes through the same on a CPU with small models.

first s: the first step, a compiler's work in it (which keeps parts of it for the next model). ms, tokens/s: of later
steps. TFLOP/s: operations by the model's own count (attention over the whole window) over that time; MFU: that as a
share of the matrix product of this run. MiB: the most that was allocated. full: hidden states, F.linear,
F.cross_entropy, in the same model, optimizer and loop. Heads alone: see `bench_head --help`. What is left out or failed
is said.
"""
# ruff: noqa: T201 (its output is what it prints)

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))

import torch  # noqa: E402
from bench_head import HEADER as HEADS_HEADER  # noqa: E402
from bench_head import Bench, Case, title  # noqa: E402
from steps import LEAN, Measured, Race, Shape, Stopwatch, Way  # noqa: E402
from timing import Product, machine_in_words, medians  # noqa: E402

MIB = 2**20
PRECISION = "bf16"
AIM = 520_000
"""Tokens a second of GPT-2 small at T = 1024 on an H200: 45 % of its dense bf16, 989 TFLOP/s by the data sheet."""
GPT2_WORDS = 50_257
LARGE = (Shape("GPT-2 small", GPT2_WORDS), Shape("GPT-2 small's body, 267,735 words", 267_735))
TINY = {"seq_len": 16, "dim": 32, "num_layers": 1, "num_heads": 2, "batch_sizes": (2, 1)}
SMALL = (Shape("small", 997, **TINY), Shape("small, more words", 2003, **TINY))  # type: ignore[arg-type]
STEPS_HEADER = (
    f"{'tying, head':<22}{'first s':>9}{'ms':>9}{'tokens/s':>10}{'TFLOP/s':>9}{'MFU':>7}{'MiB':>10}{'first loss':>12}"
)
Part = Callable[[float], Iterator[str]]
"""Given the moment at which it should be over, what it has to say."""


class Parts:
    """What is measured on one device."""

    def __init__(self, device: torch.device, *, small: bool, compiles: bool) -> None:
        self.device, self.small, self.compiles = device, small, compiles
        self.product = 0.0
        self.stopwatch = Stopwatch(device, PRECISION, 0.01 if small else 3.0)

    def multiply(self, until: float) -> Iterator[str]:
        """What a product of two square matrices reaches: what every share is a share of."""
        product = Product(PRECISION, self.device, 128 if self.small else None)
        many = 1 if self.small else 10
        action = {"products": lambda: [product() for _ in range(many)]}
        medians(action, 2, self.device)
        self.product = many * product.flops / medians(action, 5, self.device, until)["products"]
        yield f"matrix product, {PRECISION}: {self.product / 1e12:,.3f} TFLOP/s"

    def steps(self, shape: Shape) -> Part:
        """The race of whole steps."""

        def lines(until: float) -> Iterator[str]:
            race = Race(self.stopwatch, shape, compiles=self.compiles)
            for number, (way, measured) in enumerate(race.run(until)):
                if not number:
                    logits = f"full fp32 logits {shape.logit_bytes(race.batch_size) / MIB:,.0f} MiB"
                    sizes = f"V={shape.vocab_size:,} D={shape.dim} T={shape.seq_len} B={race.batch_size}"
                    yield f"{shape.name}: {sizes}, {shape.num_layers} layers; {logits}"
                    yield STEPS_HEADER
                yield self.row(shape, race.batch_size, way, measured)
            if race.left_out:
                yield f"left out, the time being up: {', '.join(map(str, race.left_out))}"
            yield from side_by_side(race)

        return lines

    def row(self, shape: Shape, batch_size: int, way: Way, measured: Measured | str) -> str:
        """A way's row of the table."""
        if isinstance(measured, str):
            return f"{way!s:<22}  {measured[:76]}"
        speed = batch_size * shape.seq_len / measured.seconds
        rate = speed * measured.flops_per_token
        share = f"{rate / self.product:.0%}" if self.product else ""
        peak = "" if measured.peak_bytes is None else f"{measured.peak_bytes / MIB:,.0f}"
        return (
            f"{way!s:<22}{measured.first_seconds:>9.2f}{1e3 * measured.seconds:>9.1f}{speed:>10,.0f}"
            f"{rate / 1e12:>9.1f}{share:>7}{peak:>10}{measured.first_loss:>12.4f}"
        )

    def heads(self, shape: Shape) -> Part:
        """The race of heads alone, at this vocabulary."""
        case = Case(32 if self.small else 8192, shape.dim, shape.vocab_size)

        def lines(until: float) -> Iterator[str]:
            if self.compiles:
                torch.compiler.reset()  # which takes only so many forms of a function
            bench = Bench(self.device, (8, 16) if self.small else (1024, 4096), compiled=self.compiles)
            yield title("heads alone", case)
            yield HEADS_HEADER
            on_gpu = self.device.type == "cuda"
            yield from bench.lines(case, PRECISION, 1 if self.small else 10, memory=on_gpu, until=until)

        return lines


def side_by_side(race: Race) -> Iterator[str]:
    """What the rows say together, beside what is aimed at."""
    for words, figure, aim in (("memory", "peak_bytes", "; aim: below 0.50"), ("time", "seconds", "")):
        if ratios := race.ratios(figure):
            yield f"{words}, lean over full: {', '.join(f'{way} {value:.2f}' for way, value in ratios.items())}{aim}"
    lean = [(way, measured) for way, measured in race.found.items() if way.head == LEAN]
    seconds = {way: measured.seconds for way, measured in lean if isinstance(measured, Measured)}
    if race.shape.vocab_size == GPT2_WORDS and seconds:
        best = min(seconds, key=lambda way: seconds[way])
        speed = race.batch_size * race.shape.seq_len / seconds[best]
        yield f"{best}: {speed:,.0f} tokens/s; aim on an H200: {AIM:,}, 45 % of its dense bf16 (989 TFLOP/s)"


def carry_out(parts: list[tuple[float, Part]], seconds: float) -> int:
    """Each part has its share of the time that is left; 1 where one broke off, and the others go on."""
    ends, code = time.monotonic() + seconds, 0
    for number, (share, part) in enumerate(parts):
        now = time.monotonic()
        until = now + (ends - now) * share / sum(share for share, _ in parts[number:])
        try:
            for line in part(until):
                print(line, flush=True)
        except Exception as error:  # noqa: BLE001 (whatever it is, the other parts are measured all the same)
            print(f"broke off, {type(error).__name__}: {error}", flush=True)
            code = 1
        print(f"({time.monotonic() - now:.0f} s)\n", flush=True)
    return code


def main(arguments: list[str] | None = None) -> int:
    """0 all measured, 1 a part broke off, 2 no GPU here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--small", action="store_true", help="small models")
    parser.add_argument("--seconds", type=float, default=270.0, help="for all parts together (default: %(default)s)")
    parser.add_argument("--no-compile", action="store_true", help="leave out what is compiled (on a CPU it always is)")
    asked = parser.parse_args(arguments)
    if asked.device == "cuda" and not torch.cuda.is_available():
        sys.stderr.write("bench_gpu: torch finds no CUDA device here\n")
        return 2
    device = torch.device(asked.device)
    measured = Parts(device, small=asked.small, compiles=device.type == "cuda" and not asked.no_compile)
    print(f"{machine_in_words(device)}, {PRECISION}\n")
    one, other = SMALL if asked.small else LARGE
    parts = [
        (2.0, measured.multiply),
        (45.0, measured.steps(one)),
        (20.0, measured.steps(other)),
        (15.0, measured.heads(one)),
        (15.0, measured.heads(other)),
        (2.0, measured.multiply),  # once more: a machine that became slower meanwhile is seen
    ]
    return carry_out(parts, asked.seconds)


if __name__ == "__main__":
    sys.exit(main())
