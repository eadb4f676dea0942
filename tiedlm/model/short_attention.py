"""Causal attention over a short window in bf16 on a CPU, where the way back of torch's fused kernel is slow.

Batched matrix products over all pairs of positions, half of them for nothing, are faster up to `LONGEST`. The scores
are formed in fp32 as the fused kernel does: rounded to bf16 they cost two to four times its error.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

LONGEST = 128
"""Positions. Forward and back took 0.36 of the fused kernel's time at 128, 0.88 at 256 (torch 2.13, AMX, 2 threads)."""


def short_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Softmax attention of each position over itself and those before it; all (B, H, T, A)."""
    result: Tensor = _ShortAttention.apply(query, key, value)  # type: ignore[no-untyped-call]
    return result


class _ShortAttention(torch.autograd.Function):
    """Keeps the weights (B H, T, T) for the way back, of which a short window has few."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        queries, keys, values = (part.flatten(0, 1) for part in (query, key, value))  # (B H, T, A)
        ctx.scale = query.shape[-1] ** -0.5
        with torch.autocast(query.device.type, enabled=False):  # it would take the product in bf16 all the same
            scores = (queries.float() * ctx.scale) @ keys.float().transpose(1, 2)  # (B H, T, T)
            scores += torch.full(scores.shape[1:], -math.inf, device=query.device).triu(1)
            weights = torch.softmax(scores, -1, out=scores).to(query.dtype)
            ctx.save_for_backward(queries, keys, values, weights)
            return (weights @ values).view_as(query)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        queries, keys, values, weights = ctx.saved_tensors
        above = gradient.flatten(0, 1)
        weights_grad = above @ values.transpose(1, 2)
        scores_grad = torch.ops.aten._softmax_backward_data(weights_grad, weights, -1, weights.dtype)
        scores_grad *= ctx.scale
        found = scores_grad @ keys, scores_grad.transpose(1, 2) @ queries, weights.transpose(1, 2) @ above
        return tuple(part.view_as(gradient) for part in found)
