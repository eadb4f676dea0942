"""How a training step's cost grows, one size changed at a time: called by `bench_growth`.

Every line is a fresh process. ms: of a step. head: 6 x D x V operations a token, in GFLOP a step. rest: the layers'.
peak: how far the process grows (on a GPU what is allocated), in MiB as all that follows. matrices: 16 bytes x V x D for
each matrix that stays (fp32 value, gradient, two AdamW moments). stays: the same of all parameters. beyond: the peak
less what stays, so activations and temporaries. logits: what one (B T, V) tensor in fp32 would take.
"""
# ruff: noqa: T201 (its output is what it prints)

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from made_up import made_up_run
from timing import machine_in_words

from tiedlm.errors import RunError
from tiedlm.model.language_model import build_model
from tiedlm.model.parameters import count_parameters
from tiedlm.run.config import RunConfig
from tiedlm.run.probe import Taken, measure
from tiedlm.training.machine import resolve_machine
from tiedlm.training.trainer import UNTIMED_STEPS

MIB = 2**20
BYTES_THAT_STAY = 16
"""Of each parameter: value, gradient and two moments of AdamW, four bytes each."""
TYINGS = ("tied", "untied")


@dataclass(frozen=True)
class Sizes:
    """A model, and the batch that is one step."""

    vocab_size: int = 50_257
    seq_len: int = 256
    batch_size: int = 4
    dim: int = 128
    num_layers: int = 2

    @property
    def num_tokens(self) -> int:
        return self.batch_size * self.seq_len

    @property
    def logit_bytes(self) -> int:
        """Of one fp32 tensor of all scores."""
        return 4 * self.num_tokens * self.vocab_size

    def config(self, tying: str, recipe: dict[str, object]) -> RunConfig:
        """A run of this size; its ids are made up."""
        model = {
            "num_layers": self.num_layers,
            "dim": self.dim,
            "num_heads": self.dim // 32,
            "positions": "rope",  # which have no parameters, so that the context brings none
        }
        training = {"batch_size": self.batch_size, "learning_rate": 1e-4, **recipe}
        return made_up_run(tying, self.seq_len, model, training)


SWEEPS = {
    "vocab-size": [4096, 16_384, 50_257, 267_735],
    "seq-len": [64, 256, 1024],
    "batch-size": [1, 4, 16],
}


@dataclass(frozen=True)
class Line:
    """What was measured of a tying at some sizes, beside the formulas."""

    sizes: Sizes
    tying: str
    num_parameters: int
    flops_per_token: int
    taken: Taken

    @classmethod
    def measured(cls, sizes: Sizes, tying: str, recipe: dict[str, object]) -> "Line":
        """In a process of its own; raises RunError where it does not end well."""
        config = sizes.config(tying, recipe)
        taken = measure(config, sizes.batch_size, sizes.vocab_size, config.training.num_steps(sizes.seq_len, 0))
        with torch.device("meta"):
            counts = count_parameters(build_model(config.model, sizes.vocab_size, config.max_seq_len), sizes.seq_len)
        return cls(sizes, tying, counts.total, counts.flops_per_token, taken)

    @property
    def head_flops(self) -> int:
        """Of a step."""
        return 6 * self.sizes.dim * self.sizes.vocab_size * self.sizes.num_tokens

    @property
    def matrix_bytes(self) -> int:
        """Of the matrices of V rows, for good."""
        matrices = 1 if self.tying == "tied" else 2
        return BYTES_THAT_STAY * matrices * self.sizes.vocab_size * self.sizes.dim

    @property
    def peak_bytes(self) -> int | None:
        return self.taken.gpu_peak_allocated_bytes or self.taken.host_growth_bytes

    @property
    def beyond_bytes(self) -> int | None:
        """Of the peak, what is there for a part of a step."""
        return None if self.peak_bytes is None else self.peak_bytes - BYTES_THAT_STAY * self.num_parameters

    def row(self) -> str:
        """Its row of the table."""
        sizes, speed = self.sizes, self.taken.tokens_per_second
        flops, rest = self.flops_per_token * sizes.num_tokens, self.flops_per_token * sizes.num_tokens - self.head_flops
        seconds = None if speed is None else sizes.num_tokens / speed
        stays = BYTES_THAT_STAY * self.num_parameters
        bytes_ = self.peak_bytes, self.matrix_bytes, stays, self.beyond_bytes, sizes.logit_bytes
        return (
            f"{sizes.vocab_size:>8,}{sizes.seq_len:>5}{sizes.batch_size:>4} {self.tying:<7}"
            f"{'' if seconds is None else f'{1e3 * seconds:,.1f}':>9}{self.head_flops / 1e9:>8,.1f}{rest / 1e9:>7,.1f}"
            f"{'' if seconds is None else f'{flops / seconds / 1e9:,.0f}':>8}"
            f"{''.join(f'{_mib(value):>{width}}' for value, width in zip(bytes_, _WIDTHS, strict=True))}"
        )


_WIDTHS = (9, 9, 9, 8, 8)
HEADER = (
    f"{'V':>8}{'T':>5}{'B':>4} {'tying':<7}{'ms':>9}{'head':>8}{'rest':>7}{'GFLOP/s':>8}"
    f"{'peak':>9}{'matrices':>9}{'stays':>9}{'beyond':>8}{'logits':>8}"
)


def sweep(over: str, values: list[int], base: Sizes, recipe: dict[str, object]) -> Iterator[str]:
    """The lines of one size changed, and how much of their growth the logits would have been."""
    key = over.replace("-", "_")
    ends: dict[str, list[Line]] = {tying: [] for tying in TYINGS}
    for value in values:
        for tying in TYINGS:
            try:
                line = Line.measured(replace(base, **{key: value}), tying, recipe)
            except RunError as error:
                yield f"{value:,}, {error}"
                continue
            ends[tying].append(line)
            yield line.row()
    for tying, lines in ends.items():
        if len(lines) > 1:
            yield grown(over, tying, lines[0], lines[-1])


def grown(over: str, tying: str, first: Line, last: Line) -> str:
    """One sentence."""
    key = over.replace("-", "_")
    start, end = getattr(first.sizes, key), getattr(last.sizes, key)
    if first.beyond_bytes is None or last.beyond_bytes is None:
        return f"{tying}: no memory was measured"
    more, logits = last.beyond_bytes - first.beyond_bytes, last.sizes.logit_bytes - first.sizes.logit_bytes
    return (
        f"{tying}, {over} {start:,} to {end:,}: beyond what stays {_mib(more)} MiB more; "
        f"logits would be {_mib(logits)} more"
    )


def _mib(num_bytes: int | None) -> str:
    return "" if num_bytes is None else f"{num_bytes / MIB:,.0f}"


def main(arguments: list[str] | None = None) -> None:
    """Print a table for each size that is changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--over", nargs="+", choices=SWEEPS, default=list(SWEEPS))
    parser.add_argument("--values", nargs="+", type=int, help="of the one size that --over names")
    for name, default in vars(Sizes()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default, help="default: %(default)s")
    steps = f"default: %(default)s, {UNTIMED_STEPS} of which warm up"
    parser.add_argument("--steps", type=int, default=UNTIMED_STEPS + 3, help=steps)
    parser.add_argument("--precision", choices=("auto", "fp32", "bf16", "fp16"), default="auto")
    parser.add_argument("--device", default="auto", help="default: %(default)s")
    parser.add_argument("--threads", type=int, help="of the CPU (default: as torch has it)")
    asked = parser.parse_args(arguments)
    if asked.values and len(asked.over) != 1:
        parser.error("--values needs one --over")
    base = Sizes(**{name: getattr(asked, name) for name in vars(Sizes())})
    keys = ("steps", "precision", "device")
    recipe = {**{key: getattr(asked, key) for key in keys}, "num_threads": asked.threads, "compile": False}
    machine = resolve_machine(base.config("tied", recipe).training)
    if asked.threads:
        torch.set_num_threads(asked.threads)
    print(
        f"{machine_in_words(machine.device)}, {machine.precision}; {base.num_layers} layers, D={base.dim}; MiB, GFLOP"
    )
    for over in asked.over:
        print(f"\n{HEADER}")
        for line in sweep(over, asked.values or SWEEPS[over], base, recipe):
            print(line, flush=True)


if __name__ == "__main__":
    main()
