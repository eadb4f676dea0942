"""Causal attention over a short window in bf16 on a CPU, where torch's fused kernel is slow, above all on the way back.

The weights are formed on the way forward and again on the way back, some heads and rows at a time. All else is matrix
products over pairs of positions, most of which causality does not forbid. Scores are fp32 as in the fused kernel:
rounded to bf16 they cost two to four times its error.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tiedlm.kernels.tracing import is_traced

LONGEST = 512
"""Positions. Forward and back took 0.6 of torch's time at 128, 0.8 at 256, 0.65 to 0.75 at 512, 0.9 at 768 and 1.05 at
1,024 (torch 2.13, AVX512_BF16 without AMX, 2 threads)."""
_ROWS = 128
"""Queries that are taken together; keys that come after the last of them are left out."""
_ENTRIES = 1 << 21
"""Pairs of positions that are taken together, at most or of one head."""
_FEW = 2
"""Groups of heads in a trace: all further ones take the room of these."""


def short_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Softmax attention of each position over itself and those before it; all (B, H, T, A)."""
    result: Tensor = _ShortAttention.apply(query, key, value)  # type: ignore[no-untyped-call]
    return result


class _ShortAttention(torch.autograd.Function):
    """Keeps what it is given, and no weight."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        flat = [part.flatten(0, 1).contiguous() for part in (query, key, value)]  # (B H, T, A)
        ctx.save_for_backward(*flat)
        mixed = torch.empty_like(flat[0])
        weights = _Weights(flat[0])
        with torch.autocast(query.device.type, enabled=False):  # it would take the scores in bf16
            for heads in weights.groups:
                query_part, key_part, value_part = (part[heads] for part in flat)
                for some, seen, formed in weights.of(query_part, key_part):
                    mixed[heads, some] = formed @ value_part[:, seen]
        return mixed.view(query.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, ...]:
        flat = ctx.saved_tensors
        gradients = [torch.empty_like(part) for part in flat]
        above_flat = above.flatten(0, 1)
        weights = _Weights(flat[0])
        with torch.autocast(above.device.type, enabled=False):
            for heads in weights.groups:
                parts = [part[heads] for part in (*flat, above_flat)]
                _some_heads(weights, parts, [gradient[heads] for gradient in gradients])
        for gradient in gradients[:2]:
            gradient *= gradient.shape[-1] ** -0.5
        return tuple(gradient.view_as(above) for gradient in gradients)


class _Weights:
    """The softmax over the scores of queries like `query` (H, T, A): formed for some heads at a time, in one room."""

    def __init__(self, query: Tensor) -> None:
        num_heads, length, dim = query.shape
        self.scale = dim**-0.5
        self.rows = _slices(length, min(length, _ROWS))
        most = self.rows[0].stop
        heads_at_once = min(num_heads, max(1, _ENTRIES // (most * length)))
        self.groups = _slices(num_heads, heads_at_once)[: _FEW if is_traced() else None]
        self._room = query.new_empty(heads_at_once * most * length, dtype=torch.float32)
        self._future = query.new_full((most, most), -math.inf, dtype=torch.float32).triu_(1)

    def of(self, query: Tensor, key: Tensor) -> Iterator[tuple[slice, slice, Tensor]]:
        """Of some heads (H, T, A) the rows, the last ones first, the positions they see, and their weights (H, R, S).

        The last rows see all positions, whose gradients begin with them.
        """
        scaled, wide_key = query.float() * self.scale, key.float()
        for some in reversed(self.rows):
            seen, num_rows = slice(0, some.stop), some.stop - some.start
            scores = self._room[: len(query) * num_rows * some.stop].view(-1, num_rows, some.stop)
            torch.bmm(scaled[:, some], wide_key[:, seen].transpose(1, 2), out=scores)
            scores[..., some] += self._future[:num_rows, :num_rows]
            yield some, seen, torch.softmax(scores, -1, out=scores).to(query.dtype)


def _some_heads(weights: _Weights, parts: list[Tensor], gradients: list[Tensor]) -> None:
    """Fill the gradients of some heads' `parts`, all (H, T, A), the first two still without the scale."""
    query, key, value, above = parts
    query_grad, key_grad, value_grad = gradients
    for some, seen, formed in weights.of(query, key):
        weights_grad = above[:, some] @ value[:, seen].transpose(1, 2)
        scores_grad = torch.ops.aten._softmax_backward_data(weights_grad, formed, -1, query.dtype)
        query_grad[:, some] = scores_grad @ key[:, seen]
        if some.stop == query.shape[1]:
            torch.bmm(scores_grad.transpose(1, 2), query[:, some], out=key_grad)
            torch.bmm(formed.transpose(1, 2), above[:, some], out=value_grad)
        else:
            key_grad[:, seen] += scores_grad.transpose(1, 2) @ query[:, some]
            value_grad[:, seen] += formed.transpose(1, 2) @ above[:, some]


def _slices(length: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]
