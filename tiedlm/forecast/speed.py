"""How fast this machine multiplies matrices: the ground of a guess at the speed of training."""

import time

import torch

from tiedlm.training.machine import Machine

_SIZE = 512
_SECONDS = 0.1
_DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_SHARES = {"fp32": 0.3, "bf16": 0.15, "fp16": 0.15}
"""Of the speed of a matrix product, what training a small model reaches on a CPU."""


def guess_flops_per_second(machine: Machine, num_threads: int | None) -> float | None:
    """FLOPs of training a second on this machine's CPU; None for a GPU, which nothing but a run should use.

    Takes a tenth of a second, of which the fastest product counts: others may be at work too. Within a factor of about
    three.
    """
    if machine.device.type != "cpu":
        return None
    before = torch.get_num_threads()
    torch.set_num_threads(num_threads or before)
    matrix = torch.ones(_SIZE, _SIZE, dtype=_DTYPES[machine.precision])
    matrix @ matrix
    began, fastest = time.perf_counter(), float("inf")
    while (start := time.perf_counter()) - began < _SECONDS or fastest == float("inf"):
        matrix @ matrix
        fastest = min(fastest, time.perf_counter() - start)
    torch.set_num_threads(before)
    return _SHARES[machine.precision] * 2 * _SIZE**3 / fastest
