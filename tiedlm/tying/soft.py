"""Two matrices with a penalty on their distance."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tiedlm.tying.config import Norm, SoftConfig
from tiedlm.tying.untied import Untied


def distance(one: Tensor, other: Tensor, norm: Norm) -> Tensor:
    """The Frobenius norm of a difference, or the mean of its squared entries: ()."""
    length: Tensor = _FrobeniusDistance.apply(one, other)  # type: ignore[no-untyped-call]
    return length if norm == "fro" else length.square() / one.numel()


class Soft(Untied):
    """The input and the output embedding are two parameters, with a penalty on their distance."""

    def __init__(self, config: SoftConfig, vocab_size: int, dim: int) -> None:
        super().__init__(config, vocab_size, dim)
        self.strength, self.norm = config.strength, config.norm

    def penalty(self) -> Tensor:
        return self.strength * distance(self.input_embedding, self.output_embedding, self.norm)


class _FrobeniusDistance(torch.autograd.Function):
    """Saves references to the parameters alone and recomputes the difference in backward. Gradient 0 where it is 0."""

    @staticmethod
    def forward(ctx: Any, one: Tensor, other: Tensor) -> Tensor:
        length: Tensor = torch.linalg.vector_norm(one - other)
        ctx.save_for_backward(one, other, length)
        return length

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, Tensor]:
        one, other, length = ctx.saved_tensors
        factor = torch.where(length > 0, upstream / length, 0)
        gradient = (one - other).mul_(factor)
        return gradient, -gradient
