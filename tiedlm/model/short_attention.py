"""Causal attention over a short window in bf16 on a CPU, where the way back of torch's fused kernel is slow.

Forward it is that kernel. On the way back the weights are formed again from the scores, a few heads at a time, and all
else is matrix products over pairs of positions, most of which causality does not forbid. The scores are fp32 as in the
fused kernel: rounded to bf16 they cost two to four times its error.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

LONGEST = 512
"""Positions. Forward and back took 0.36 of torch's time at 128, 0.78 at 256, 0.86 at 512, 1.1 at 768 (torch 2.13, AMX,
2 threads)."""
_ROWS = 256
"""Queries that are taken together; keys that come after the last of them are left out."""
_ENTRIES = 1 << 21
"""Pairs of positions that are taken together, at most or of one head."""


def short_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Softmax attention of each position over itself and those before it; all (B, H, T, A)."""
    result: Tensor = _ShortAttention.apply(query, key, value)  # type: ignore[no-untyped-call]
    return result


class _ShortAttention(torch.autograd.Function):
    """Keeps what the fused kernel keeps, less its result."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        mixed, log_sums = fused(query, key, value, is_causal=True)  # (B, H, T, A), (B, H, T)
        ctx.save_for_backward(query, key, value, log_sums)
        result: Tensor = mixed
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, ...]:
        query, key, value, log_sums = (part.flatten(0, 1) for part in ctx.saved_tensors)  # (B H, T, A), (B H, T)
        above = above.flatten(0, 1)  # (B H, T, A)
        num_heads, length, dim = query.shape
        rows = min(length, _ROWS)
        heads_at_once = min(num_heads, max(1, _ENTRIES // (rows * length)))
        room = query.new_empty(heads_at_once * rows * length, dtype=torch.float32)
        gradients = [torch.empty_like(part) for part in (query, key, value)]
        with torch.autocast(query.device.type, enabled=False):  # it would take the scores in bf16
            for heads in _slices(num_heads, heads_at_once):
                _some_heads(
                    query[heads],
                    key[heads],
                    value[heads],
                    log_sums[heads],
                    above[heads],
                    [gradient[heads] for gradient in gradients],
                    room,
                )
        for gradient in gradients[:2]:
            gradient *= dim**-0.5
        return tuple(gradient.view_as(ctx.saved_tensors[0]) for gradient in gradients)


def _some_heads(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    log_sums: Tensor,
    above: Tensor,
    gradients: list[Tensor],
    room: Tensor,
) -> None:
    """Fill the gradients of some heads, all (H, T, A), the first two still without the scale; log_sums (H, T)."""
    query_grad, key_grad, value_grad = gradients
    scaled_query, wide_key = query.float().mul_(query.shape[-1] ** -0.5), key.float()
    num_heads, length, _ = query.shape
    for some in reversed(_slices(length, _ROWS)):  # the last rows reach all keys, whose gradients begin with them
        seen = slice(0, some.stop)
        shape = num_heads, some.stop - some.start, some.stop
        weights = room[: shape[0] * shape[1] * shape[2]].view(shape)
        torch.bmm(scaled_query[:, some], wide_key[:, seen].transpose(1, 2), out=weights)
        weights.sub_(log_sums[:, some].unsqueeze(-1)).exp_().tril_(some.start)
        rounded = weights.to(query.dtype)
        weights_grad = above[:, some] @ value[:, seen].transpose(1, 2)
        scores_grad = torch.ops.aten._softmax_backward_data(weights_grad, rounded, -1, query.dtype)
        query_grad[:, some] = scores_grad @ key[:, seen]
        if some.stop == length:
            torch.bmm(scores_grad.transpose(1, 2), query[:, some], out=key_grad)
            torch.bmm(rounded.transpose(1, 2), above[:, some], out=value_grad)
        else:
            key_grad[:, seen] += scores_grad.transpose(1, 2) @ query[:, some]
            value_grad[:, seen] += rounded.transpose(1, 2) @ above[:, some]


def _slices(length: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]
