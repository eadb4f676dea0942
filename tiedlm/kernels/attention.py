"""Causal attention, with a kernel of our own for a short window in bf16 on a CPU.

There torch's fused kernel is slow, above all in the backward pass. `short_attention` must equal `plain_attention`. It
computes the attention weights in the forward pass and again in the backward pass, in blocks of heads and query rows,
each against the keys up to its last row, so that little masked work is wasted. Scores are fp32 as in the fused kernel:
rounded to bf16 they cost two to four times its error.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from tiedlm.kernels.tracing import device_type, is_traced

MAX_LENGTH = 512
"""Positions. Forward and back took 0.6 of torch's time at 128, 0.8 at 256, 0.65 to 0.75 at 512, 0.9 at 768 and 1.05 at
1,024 (torch 2.13, AVX512_BF16 without AMX, 2 threads)."""
_ROWS = 128
"""Queries that are taken together; keys that come after the last of them are left out."""
_ENTRIES = 1 << 21
"""Attention weights in a block, at most; one head may have more."""
_TRACED_GROUPS = 2
"""Groups of heads in a trace: all further ones reuse the memory of these."""


def causal_attention(query: Tensor, key: Tensor, value: Tensor, dropout: float = 0.0) -> Tensor:
    """Softmax attention of each position over itself and those before it.

    query (B, H, T, A), key and value (B, K, T, A) with H a multiple of K: query head h reads key head h // (H / K).
    `dropout` is the probability with which an attention weight is dropped. Returns (B, H, T, A).
    """
    is_plain = query.shape[1] == key.shape[1] and dropout == 0 and not torch.compiler.is_compiling()
    if is_plain and _is_short_in_bf16(query):
        return short_attention(query, key, value)
    return plain_attention(query, key, value, dropout)


def plain_attention(query: Tensor, key: Tensor, value: Tensor, dropout: float = 0.0) -> Tensor:
    """`causal_attention` by torch's own function."""
    grouped = query.shape[1] != key.shape[1]
    return F.scaled_dot_product_attention(query, key, value, dropout_p=dropout, is_causal=True, enable_gqa=grouped)


def _is_short_in_bf16(query: Tensor) -> bool:
    """Whether torch's own attention would be slow in the backward pass."""
    is_short = query.numel() > 0 and query.shape[2] <= MAX_LENGTH
    return query.dtype == torch.bfloat16 and is_short and device_type(query) == "cpu"


def short_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Causal attention without dropout; all (B, H, T, A)."""
    result: Tensor = _ShortAttention.apply(query, key, value)  # type: ignore[no-untyped-call]
    return result


class _ShortAttention(torch.autograd.Function):
    """Saves its inputs for the backward pass, and no attention weight."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        flat = [tensor.flatten(0, 1).contiguous() for tensor in (query, key, value)]  # (B H, T, A)
        ctx.save_for_backward(*flat)
        mixed = torch.empty_like(flat[0])
        weights = _AttentionWeights(flat[0])
        with torch.autocast(query.device.type, enabled=False):  # it would take the scores in bf16
            for heads in weights.groups:
                some_query, some_key, some_value = (tensor[heads] for tensor in flat)
                for rows, seen, block in weights.blocks(some_query, some_key):
                    mixed[heads, rows] = block @ some_value[:, seen]
        return mixed.view(query.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, ...]:
        flat = ctx.saved_tensors
        gradients = [torch.empty_like(tensor) for tensor in flat]
        flat_upstream = upstream.flatten(0, 1)
        weights = _AttentionWeights(flat[0])
        with torch.autocast(upstream.device.type, enabled=False):
            for heads in weights.groups:
                inputs = [tensor[heads] for tensor in (*flat, flat_upstream)]
                _fill_gradients(weights, inputs, [gradient[heads] for gradient in gradients])
        for gradient in gradients[:2]:
            gradient *= gradient.shape[-1] ** -0.5
        return tuple(gradient.view_as(upstream) for gradient in gradients)


class _AttentionWeights:
    """The softmax over the scores of queries like `query` (H, T, A): a block at a time, in one buffer.

    `groups` are the heads that go together.
    """

    def __init__(self, query: Tensor) -> None:
        num_heads, length, dim = query.shape
        self.scale = dim**-0.5
        self.rows = _slices(length, min(length, _ROWS))
        longest = self.rows[0].stop
        heads_at_once = min(num_heads, max(1, _ENTRIES // (longest * length)))
        self.groups = _slices(num_heads, heads_at_once)[: _TRACED_GROUPS if is_traced() else None]
        self._buffer = query.new_empty(heads_at_once * longest * length, dtype=torch.float32)
        self._causal_mask = query.new_full((longest, longest), -math.inf, dtype=torch.float32).triu_(1)

    def blocks(self, query: Tensor, key: Tensor) -> Iterator[tuple[slice, slice, Tensor]]:
        """Of queries and keys (H, T, A), last rows first: the rows, the keys they see, and their weights (H, R, S).

        The last rows see all keys, so that the gradients of all keys and values begin with theirs.
        """
        scaled, wide_key = query.float() * self.scale, key.float()
        for rows in reversed(self.rows):
            seen, num_rows = slice(0, rows.stop), rows.stop - rows.start
            scores = self._buffer[: len(query) * num_rows * rows.stop].view(-1, num_rows, rows.stop)
            torch.bmm(scaled[:, rows], wide_key[:, seen].transpose(1, 2), out=scores)
            scores[..., rows] += self._causal_mask[:num_rows, :num_rows]
            yield rows, seen, torch.softmax(scores, -1, out=scores).to(query.dtype)


def _fill_gradients(weights: _AttentionWeights, inputs: list[Tensor], gradients: list[Tensor]) -> None:
    """Fill the gradients of some heads' query, key and value, all (H, T, A), the first two still without the scale."""
    query, key, value, upstream = inputs
    query_grad, key_grad, value_grad = gradients
    for rows, seen, block in weights.blocks(query, key):
        weights_grad = upstream[:, rows] @ value[:, seen].transpose(1, 2)
        scores_grad = torch.ops.aten._softmax_backward_data(weights_grad, block, -1, query.dtype)
        query_grad[:, rows] = scores_grad @ key[:, seen]
        if rows.stop == query.shape[1]:
            torch.bmm(scores_grad.transpose(1, 2), query[:, rows], out=key_grad)
            torch.bmm(block.transpose(1, 2), upstream[:, rows], out=value_grad)
        else:
            key_grad[:, seen] += scores_grad.transpose(1, 2) @ query[:, rows]
            value_grad[:, seen] += block.transpose(1, 2) @ upstream[:, rows]


def _slices(length: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]
