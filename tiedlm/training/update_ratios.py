"""How far a step of the optimizer moves the weights of each part of a model, beside their size."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from tiedlm.model.language_model import LanguageModel
from tiedlm.model.parameters import parameter_parts

UpdateRatios = Mapping[str, float | None]
"""|after - before| / |before| by part; null where |before| is 0, or not told from 0 by the rounding of fp32."""
MEASURED_PARTS = ("input_embedding", "output_embedding", "shared_embedding", "body")
_LARGEST_RATIO = 1e6
"""Beyond it the weights before the step are what rounding made of 0."""
_MOST_STEPS = 10
_STEPS_APART = 50
"""A measurement takes less than half a step, so at this distance less than 1 % of the time."""
_BLOCK_SIZES = {"cpu": 2**18, "cuda": 2**22}
"""Entries looked at together: at most three fp32 tensors of this size are there at once."""


class UpdateMeter:
    """Measures |after - before| / |before| of the matrices of each part, at a few steps of a run.

    The squares of all matrices of a part are added up. No copy of the weights is kept: what an optimizer step was
    follows from the weights after it and from the state that the optimizer kept of it. Nothing is changed by measuring.
    """

    def __init__(self, model: LanguageModel, optimizer: torch.optim.Optimizer, num_steps: int) -> None:
        self.optimizer = optimizer
        self.steps = measured_steps(num_steps)
        parts = parameter_parts(model)
        self.part_of = {
            id(parameter): part for part in MEASURED_PARTS for parameter in parts[part] if parameter.dim() > 1
        }

    @torch.no_grad()
    def measure(self) -> dict[str, float | None]:
        """The ratios of the step that was just taken, while its gradients are there.

        Of the parts that have a matrix which the step may have moved.
        """
        squares: dict[str, list[Tensor]] = {}
        for group in self.optimizer.param_groups:
            for parameter in group["params"]:
                part = self.part_of.get(id(parameter))
                if part is not None and parameter.grad is not None:
                    squares.setdefault(part, []).append(_squares(parameter, group, self.optimizer.state[parameter]))
        ratios: dict[str, float | None] = {}
        for part in MEASURED_PARTS:
            if part in squares:
                moved, before = torch.stack(squares[part]).sum(0).sqrt().tolist()
                ratios[part] = moved / before if moved < before * _LARGEST_RATIO else None
        return ratios


def measured_steps(num_steps: int) -> frozenset[int]:
    """The steps of a run, numbered from 1, after which it is measured: the middles of equal parts, ten at most.

    Of a run of less than 100 steps one.
    """
    count = min(max(num_steps // _STEPS_APART, 1), _MOST_STEPS)
    return frozenset(math.ceil((part + 0.5) * num_steps / count) for part in range(count))


def _squares(parameter: nn.Parameter, group: dict[str, Any], state: Mapping[str, Any]) -> Tensor:
    """The sums of squares of what a step changed, and of the weights before it, (2,) in float64."""
    step = _AdamWStep(parameter, group, state) if "betas" in group else _SGDStep(parameter, group, state)
    size = _BLOCK_SIZES.get(parameter.device.type, _BLOCK_SIZES["cpu"])
    total = torch.zeros(2, dtype=torch.float64, device=parameter.device)
    for first in range(0, parameter.numel(), size):
        block = slice(first, first + size)
        after = parameter.view(-1)[block]
        # before * shrinkage - change = after
        before = step.change(block).add_(after)
        before /= step.shrinkage
        total[1] += torch.linalg.vector_norm(before).double().square()
        total[0] += torch.linalg.vector_norm(before.sub_(after)).double().square()
    return total


class _AdamWStep:
    """A step of AdamW, from the averages that it left behind."""

    def __init__(self, parameter: nn.Parameter, group: dict[str, Any], state: Mapping[str, Any]) -> None:
        (beta1, beta2), number = group["betas"], float(state["step"])
        self.shrinkage = 1 - group["lr"] * group["weight_decay"]
        self.size = group["lr"] / (1 - beta1**number)
        self.root_of_correction, self.eps = math.sqrt(1 - beta2**number), group["eps"]
        self.mean, self.square = state["exp_avg"].view(-1), state["exp_avg_sq"].view(-1)

    def change(self, block: slice) -> Tensor:
        """What was subtracted from some entries, beside the decay."""
        denominator = self.square[block].sqrt().div_(self.root_of_correction).add_(self.eps)
        return torch.div(self.mean[block], denominator, out=denominator).mul_(self.size)


class _SGDStep:
    """A step of SGD, from its momentum, in which the decay is, or from the gradient where there is none."""

    def __init__(self, parameter: nn.Parameter, group: dict[str, Any], state: Mapping[str, Any]) -> None:
        assert parameter.grad is not None
        momentum = state.get("momentum_buffer")
        self.shrinkage = 1.0 if momentum is not None else 1 - group["lr"] * group["weight_decay"]
        self.rate: float = group["lr"]
        self.direction: Tensor = (parameter.grad if momentum is None else momentum).view(-1)

    def change(self, block: slice) -> Tensor:
        """What was subtracted from some entries, beside the decay where there is no momentum."""
        return torch.mul(self.direction[block], self.rate)
