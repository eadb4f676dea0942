"""Whole steps of training on one device, with the head as it is and over full logits, in the same model and loop."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from heads import full
from made_up import made_up_run
from timing import seconds_of
from torch import Tensor

from tiedlm.kernels import nll as head
from tiedlm.model.parameters import flops_per_token
from tiedlm.run.config import RunConfig
from tiedlm.run.probe import build_probe
from tiedlm.training.memory import is_out_of_memory, read_peaks, reset_peaks

LEAN, FULL = "lean", "full"
OUT_OF_MEMORY = "out of memory"
_WARM_UP = 3
_MOST_STEPS = 50


@dataclass(frozen=True)
class Shape:
    """A decoder, and the batches to try, the largest first."""

    name: str
    vocab_size: int
    seq_len: int = 1024
    dim: int = 768
    num_layers: int = 12
    num_heads: int = 12
    batch_sizes: tuple[int, ...] = (32, 16, 8, 4, 2, 1)

    def logit_bytes(self, batch_size: int) -> int:
        """Of one fp32 tensor of all scores."""
        return 4 * batch_size * self.seq_len * self.vocab_size

    def config(self, tying: str, batch_size: int, device: str, precision: str, *, compiled: bool) -> RunConfig:
        """A run of it; its ids are made up, and it is never carried out whole."""
        sizes = {key: getattr(self, key) for key in ("num_layers", "dim", "num_heads")}
        recipe = {"steps": 1000, "batch_size": batch_size, "learning_rate": 1e-4}
        model = {"activation": "gelu_tanh", **sizes}
        training = {**recipe, "device": device, "precision": precision, "compile": compiled}
        return made_up_run(tying, self.seq_len, model, training)


@dataclass(frozen=True)
class Way:
    """How a step is taken."""

    tying: str
    head: str
    compiled: bool

    def __str__(self) -> str:
        return f"{self.tying} {self.head} {'compiled' if self.compiled else 'eager'}"


@dataclass(frozen=True)
class Measured:
    """What a way came to; the peak is what the GPU's allocator had given out at most."""

    first_seconds: float
    seconds: float
    peak_bytes: int | None
    first_loss: float
    flops_per_token: int


@dataclass(frozen=True)
class Stopwatch:
    """Takes steps on a device; `patience` is for how many seconds they are timed."""

    device: torch.device
    precision: str
    patience: float

    def measure(self, shape: Shape, way: Way, batch_size: int) -> Measured | str:
        """Steps of a new model; in words what went wrong where something did, so that other ways can still go on."""
        self._release()
        try:
            with full_logits(compiled=way.compiled) if way.head == FULL else nullcontext():
                return self._measured(shape, way, batch_size)
        except Exception as error:  # noqa: BLE001 (whatever it is, the others are measured all the same)
            return OUT_OF_MEMORY if is_out_of_memory(error) else " ".join(f"{type(error).__name__}: {error}".split())

    def _measured(self, shape: Shape, way: Way, batch_size: int) -> Measured:
        config = shape.config(way.tying, batch_size, self.device.type, self.precision, compiled=way.compiled)
        training = build_probe(config, batch_size, shape.vocab_size, num_rows=batch_size)
        flops = flops_per_token(training.model, shape.seq_len)
        if training.machine.compile:
            training.training_step.compile()
        losses: list[float] = []
        first = seconds_of(lambda: losses.append(training.advance().loss), self.device)
        for _ in range(_WARM_UP):
            training.advance()
        one = seconds_of(training.advance, self.device)
        count = max(1, min(_MOST_STEPS, int(self.patience / one)))
        seconds = seconds_of(lambda: [training.advance() for _ in range(count)], self.device) / count
        return Measured(first, seconds, read_peaks(self.device).gpu_allocated, losses[0], flops)

    def _release(self) -> None:
        """Let go of the last model, of what was compiled for it, and of what a GPU's allocator keeps."""
        if self.device.type == "cuda":
            torch.compiler.reset()
            gc.collect()
        reset_peaks(self.device)


@contextmanager
def full_logits(*, compiled: bool) -> Iterator[None]:
    """Inside, models form all logits at once; raises AssertionError where none did."""
    mean = torch.compile(full, dynamic=False) if compiled else full
    lean, calls = head.objective, 0

    def objective(
        hidden: Tensor, weight: Tensor, targets: Tensor, *_: Any, divisor: float = 1.0, **__: Any
    ) -> tuple[Tensor, Tensor]:
        nonlocal calls
        calls += 1
        total = mean(hidden, weight, targets) * len(targets)
        return total / divisor, total.detach()

    head.objective = objective
    try:
        yield
    finally:
        head.objective = lean
    assert calls, "no model asked for the head that stands in for its own"


class Race:
    """The ways to take a step of one shape, measured until time is up.

    One after the other and not in turns: the memory of two models at once is not the peak of one.
    """

    WAYS = (
        Way("untied", FULL, compiled=False),  # what fits this fits the others
        Way("tied", FULL, compiled=False),
        Way("tied", LEAN, compiled=False),
        Way("untied", LEAN, compiled=False),
        Way("tied", LEAN, compiled=True),
        Way("untied", LEAN, compiled=True),
        Way("tied", FULL, compiled=True),
        Way("untied", FULL, compiled=True),
    )

    def __init__(self, stopwatch: Stopwatch, shape: Shape, *, compiles: bool) -> None:
        self.stopwatch, self.shape, self.compiles = stopwatch, shape, compiles
        self.batch_size = 0
        self.found: dict[Way, Measured | str] = {}
        self.left_out: list[Way] = []
        self._expected = {False: 2 * stopwatch.patience, True: 60.0}
        """Seconds that a way is taken to need, eager and compiled; as of the second one, what the last one needed."""

    def run(self, until: float) -> Iterator[tuple[Way, Measured | str]]:
        """Each way and what it came to, those aside for which time was too short."""
        yield self._settle()
        for way in self.WAYS:
            if way in self.found or (way.compiled and not self.compiles):
                continue
            began = time.monotonic()
            if began + self._expected[way.compiled] > until:
                self.left_out.append(way)
                continue
            yield way, self._measure(way)
            self._expected[way.compiled] = time.monotonic() - began

    def _settle(self) -> tuple[Way, Measured | str]:
        """Find the largest batch that fits the most demanding way, or, where none does, the most demanding lean one."""
        for way in (self.WAYS[0], Way("untied", LEAN, compiled=False)):
            for batch_size in self.shape.batch_sizes:
                self.batch_size = batch_size
                if self._measure(way) != OUT_OF_MEMORY:
                    return way, self.found[way]
        return way, self.found[way]

    def _measure(self, way: Way) -> Measured | str:
        self.found[way] = self.stopwatch.measure(self.shape, way, self.batch_size)
        return self.found[way]

    def ratios(self, of: str) -> dict[str, float]:
        """A figure (`seconds`, `peak_bytes`) of lean steps over that of full ones, where both were measured."""
        ratios = {}
        for lean in self.WAYS:
            full_way = Way(lean.tying, FULL, lean.compiled)
            one, other = self.found.get(lean), self.found.get(full_way)
            if lean.head == LEAN and isinstance(one, Measured) and isinstance(other, Measured):
                values = getattr(one, of), getattr(other, of)
                if None not in values:
                    ratios[str(lean).replace(f" {LEAN}", "")] = values[0] / values[1]
        return ratios
