"""How the benchmarks measure time: medians of interleaved rounds, a matrix product among them."""

import math
import statistics
import time
from collections.abc import Callable, Mapping

import torch

from tiedlm.training.machine import Machine

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
_PRODUCT = {"cpu": 2048, "cuda": 8192}
"""Rows and columns of the matrices that are multiplied: large enough for the machine's best."""


def machine_in_words(device: torch.device) -> str:
    """What a benchmark's first line begins with."""
    name = Machine(device, "fp32", compile=False).device_name
    threads = f", {torch.get_num_threads()} threads" if device.type == "cpu" else ""
    return f"{name}{threads}, torch {torch.__version__}"


def seconds_of(action: Callable[[], object], device: torch.device) -> float:
    """How long an action takes until the device has done all of it."""
    _wait(device)
    began = time.perf_counter()
    result = action()
    _wait(device)
    seconds = time.perf_counter() - began
    del result  # what it holds is let go of after the clock has stopped, as before the next action
    return seconds


def medians(
    actions: Mapping[str, Callable[[], object]], rounds: int, device: torch.device, until: float = math.inf
) -> dict[str, float]:
    """The median seconds of each action over rounds in which each runs once; no round but the first begins after then.

    Round by round and not action by action: what slows the machine down for a while slows all of them down. Every
    other round goes backwards, so that nothing always runs after the same neighbour.
    """
    taken: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(rounds):
        if number and time.monotonic() > until:
            break
        for name in list(actions)[:: -1 if number % 2 else 1]:
            taken[name].append(seconds_of(actions[name], device))
    return {name: statistics.median(values) for name, values in taken.items()}


class Product:
    """A product of two square matrices: what this machine reaches at a precision when nothing else is to be done."""

    def __init__(self, precision: str, device: torch.device, size: int | None = None) -> None:
        size = size or _PRODUCT[device.type]
        generator = torch.Generator(device).manual_seed(0)  # numbers at random: on zeros a GPU is faster
        one, other = (torch.randn(size, size, device=device, generator=generator) for _ in range(2))
        self.one, self.other = one.to(DTYPES[precision]), other.to(DTYPES[precision])
        self.flops = 2 * size**3

    def __call__(self) -> torch.Tensor:
        return self.one @ self.other


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
