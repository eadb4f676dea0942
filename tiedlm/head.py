"""The vocabulary head: hidden states and a matrix in, negative log-likelihood out, never all logits at once.

One (N, V) tensor of fp32 logits costs more memory than the rest of a small model's step. Here the rows go through in
chunks, and each chunk leaves behind its share of the two gradients instead of its logits.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from tiedlm.data.batches import IGNORED as IGNORED

CHUNK_ROWS = 256

_FEW = 3
"""Chunks in a trace: the second is made while the first is still held, and so is every further one."""
_CHUNK_LIMIT: ContextVar[int | None] = ContextVar("chunk_limit", default=None)


@contextmanager
def few_chunks() -> Iterator[None]:
    """Inside, `nll` leaves out all chunks but the first few: it takes as much memory as with all, and means nothing.

    For following the memory of a step whose tensors have no values anyway.
    """
    token = _CHUNK_LIMIT.set(_FEW)
    try:
        yield
    finally:
        _CHUNK_LIMIT.reset(token)


def nll(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    bias: Tensor | None = None,
    chunk_rows: int = CHUNK_ROWS,
    softcap: float | None = None,
) -> Tensor:
    """Sum of negative log-likelihoods in nats over the targets that are not IGNORED.

    hidden (N, E), weight (V, E), targets (N,), bias (V,) or None. Matrix products run in the autocast dtype where
    autocast is on, else in the dtype of `hidden`; softmax, loss and both gradients' sums in fp32 (float64 stays
    float64). A `softcap` s makes a score z, bias included, s tanh(z / s). Returns a () tensor.
    """
    return objective(hidden, weight, targets, bias, chunk_rows, softcap)[0]


def objective(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    bias: Tensor | None = None,
    chunk_rows: int = CHUNK_ROWS,
    softcap: float | None = None,
    z_loss: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """`nll` plus `z_loss` times the sum of (log sum exp z)^2 over the rows that it scores, and that nll alone, both ().

    The second has no gradient. With a softcap z are the capped scores, those that the softmax sees.
    """
    device = hidden.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
    with_gradients = torch.is_grad_enabled()  # inside an autograd function it always reads False
    arguments = hidden, weight, targets, bias, chunk_rows, softcap, z_loss, dtype, with_gradients
    result: tuple[Tensor, Tensor] = _ChunkedNll.apply(*arguments)  # type: ignore[no-untyped-call]
    return result


@torch.no_grad()
def token_nll(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    bias: Tensor | None = None,
    chunk_rows: int = CHUNK_ROWS,
    softcap: float | None = None,
) -> Tensor:
    """Negative log-likelihood of each target in nats, (N,), 0 where IGNORED; logits and softmax in fp32 or better."""
    return _token_scores(hidden, weight, targets, bias, chunk_rows, softcap, None)[0]


@torch.no_grad()
def token_nll_and_mass(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    membership: Tensor,
    bias: Tensor | None = None,
    chunk_rows: int = CHUNK_ROWS,
    softcap: float | None = None,
) -> tuple[Tensor, Tensor]:
    """`token_nll`, equal to the last bit, and the probability that each row gives to groups of tokens, (N, G).

    membership (V, G) holds 1 where a token is in a group, else 0. A row whose target is IGNORED gives none.
    """
    return _token_scores(hidden, weight, targets, bias, chunk_rows, softcap, membership)


def _token_scores(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    bias: Tensor | None,
    chunk_rows: int,
    softcap: float | None,
    membership: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """nll (N,) and mass (N, G); G is 0 without groups."""
    wide = _at_least_fp32(hidden.dtype)
    nll = torch.empty(targets.shape, dtype=wide, device=hidden.device)
    groups = None if membership is None else membership.to(wide)
    mass = torch.zeros(len(targets), 0 if groups is None else groups.shape[1], dtype=wide, device=hidden.device)
    with torch.autocast(hidden.device.type, enabled=False):
        matrix, offset = weight.to(wide), None if bias is None else bias.to(wide)
        for rows in _chunks(len(targets), chunk_rows):
            scores = _cap_(F.linear(hidden[rows].to(wide), matrix, offset), softcap)  # (R, V)
            nll[rows] = F.cross_entropy(scores, targets[rows], ignore_index=IGNORED, reduction="none")
            if groups is not None:
                mass[rows] = scores.softmax(-1) @ groups * (targets[rows] != IGNORED).unsqueeze(1)
    return nll, mass


def logits(hidden: Tensor, weight: Tensor, bias: Tensor | None = None, softcap: float | None = None) -> Tensor:
    """All scores at once, (..., V), in fp32 or better: for a few positions and for tests."""
    wide = _at_least_fp32(hidden.dtype)
    with torch.autocast(hidden.device.type, enabled=False):
        scores = F.linear(hidden.to(wide), weight.to(wide), None if bias is None else bias.to(wide))
        return scores if softcap is None else softcap * torch.tanh(scores / softcap)


class _ChunkedNll(torch.autograd.Function):
    """Forms the gradients of the sum on the way forward and scales them on the way back.

    Scaling last matters: divided by the number of targets first, small probabilities would vanish in fp16.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        targets: Tensor,
        bias: Tensor | None,
        chunk_rows: int,
        softcap: float | None,
        z_loss: float,
        dtype: torch.dtype,
        with_gradients: bool,
    ) -> tuple[Tensor, Tensor]:
        wide = _at_least_fp32(dtype)
        with torch.autocast(hidden.device.type, enabled=False):
            nll = torch.zeros((), dtype=wide, device=hidden.device)
            penalty = torch.zeros_like(nll)
            matrix = weight.to(dtype)
            needs_hidden, needs_weight, _, needs_bias = (with_gradients and need for need in ctx.needs_input_grad[:4])
            hidden_grad = torch.empty_like(hidden, dtype=dtype) if needs_hidden else None
            weight_grad = torch.zeros_like(weight, dtype=wide) if needs_weight else None
            bias_grad = torch.zeros_like(bias, dtype=wide) if needs_bias and bias is not None else None
            for rows in _chunks(len(targets), chunk_rows)[: _CHUNK_LIMIT.get()]:
                part, target = hidden[rows].to(dtype), targets[rows]
                scores = F.linear(part, matrix).to(wide)  # (R, V)
                if bias is not None:
                    scores += bias
                _cap_(scores, softcap)
                nll += F.cross_entropy(scores, target, ignore_index=IGNORED, reduction="sum")
                weights = None
                if z_loss:
                    log_sums = _log_sums(scores, target)
                    penalty += z_loss * log_sums.square().sum()
                    weights = 1 + 2 * z_loss * log_sums
                if not (needs_hidden or needs_weight or needs_bias):
                    continue
                errors = _errors(scores, target, weights, softcap)
                if bias_grad is not None:
                    bias_grad += errors.sum(0)
                errors = errors.to(dtype)
                if hidden_grad is not None:
                    torch.mm(errors, matrix, out=hidden_grad[rows])
                if weight_grad is not None:
                    weight_grad += errors.t() @ part
        ctx.save_for_backward(hidden_grad, weight_grad, bias_grad)  # and so let go of as soon as backward is done
        ctx.dtypes = hidden.dtype, weight.dtype, None if bias is None else bias.dtype
        ctx.mark_non_differentiable(nll)
        return nll + penalty if z_loss else nll.clone(), nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
        pairs = zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        hidden_grad, weight_grad, bias_grad = (
            None if gradient is None else gradient.to(dtype) * upstream for gradient, dtype in pairs
        )
        return hidden_grad, weight_grad, None, bias_grad, None, None, None, None, None


def _cap_(scores: Tensor, softcap: float | None) -> Tensor:
    """`scores` in their place become softcap * tanh(scores / softcap); without a softcap they stay."""
    return scores if softcap is None else scores.div_(softcap).tanh_().mul_(softcap)


def _log_sums(scores: Tensor, targets: Tensor) -> Tensor:
    """log sum exp of each row that is scored, (R,), 0 where ignored."""
    return scores.logsumexp(-1) * (targets != IGNORED)


def _errors(scores: Tensor, targets: Tensor, weights: Tensor | None, softcap: float | None) -> Tensor:
    """The gradient of the sum before the scores were capped, row by row, 0 where ignored. scores (R, V).

    Of the nll it is softmax minus the one-hot target. With `weights` (R,) of 1 + 2 c L the softmax has the gradient of
    c L^2 too, L the log of the row's sum. A cap has the slope 1 - tanh^2, which takes the place of the scores.
    """
    errors = scores.softmax(-1)
    if weights is not None:
        errors *= weights.unsqueeze(1)
    scored = targets != IGNORED
    rows = torch.arange(len(targets), device=targets.device)
    errors[rows, targets.clamp(min=0)] -= 1
    if softcap is not None:
        errors *= scores.div_(softcap).square_().neg_().add_(1)
    return errors.mul_(scored.unsqueeze(1))


def _chunks(length: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


def _at_least_fp32(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)
