"""The autograd function behind `nll.objective`: cross-entropy in chunks of rows, gradients in the forward pass.

Each chunk adds its share to the gradients, and its logits are overwritten by the next chunk. The rows of a chunk are as
many as suit a matrix product (see chunk_sizes); its softmax is taken a few rows at a time, in fp32, while they are in
the processor's cache. Value and gradients must equal those of `nll.full_objective`.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from tiedlm.data.batches import IGNORED
from tiedlm.kernels import chunk_sizes
from tiedlm.kernels.gradient_buffers import gradient_buffer
from tiedlm.kernels.tracing import device_type, is_traced


@dataclass(frozen=True)
class Settings:
    """What the scores are compared with, and how; `dtype` is that of the matrix products."""

    targets: Tensor  # (N,)
    chunk_rows: int | None
    softcap: float | None
    z_loss: float
    divisor: float
    dtype: torch.dtype
    with_gradients: bool


def chunked_objective(hidden: Tensor, weight: Tensor, bias: Tensor | None, settings: Settings) -> tuple[Tensor, Tensor]:
    """`nll.objective` of hidden (N, E), weight (V, E), bias (V,) or None."""
    result: tuple[Tensor, Tensor] = _ChunkedNll.apply(hidden, weight, bias, settings)  # type: ignore[no-untyped-call]
    return result


def training_rows(weight: Tensor, dtype: torch.dtype) -> int:
    """The most rows of a chunk. In fp16 few: sums over more rows may overflow before they are scaled."""
    return chunk_sizes.MIN_ROWS if dtype == torch.float16 else chunk_sizes.max_rows(weight, chunk_sizes.CHUNK_ENTRIES)


class _ChunkedNll(torch.autograd.Function):
    """Forms the gradients in the forward pass and multiplies them by the upstream gradient in the backward pass.

    In fp16 the division by `divisor` waits for the backward pass: divided first, small probabilities would vanish.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, settings: Settings
    ) -> tuple[Tensor, Tensor]:
        dtype, num_rows = settings.dtype, len(settings.targets)
        needs = [settings.with_gradients and need for need in ctx.needs_input_grad[:3]]
        needs_hidden, needs_weight, needs_bias = needs
        is_half = dtype == torch.float16
        ctx.late_divisor, early_divisor = (settings.divisor, 1.0) if is_half else (1.0, settings.divisor)
        all_rows = chunk_sizes.slices(num_rows, settings.chunk_rows or training_rows(weight, dtype))
        with torch.autocast(hidden.device.type, enabled=False):
            matrix = weight.to(dtype)
            hidden_grad = torch.empty_like(hidden, dtype=dtype) if needs_hidden else None
            weight_grad: Tensor | None = torch.zeros_like(weight) if needs_weight and not all_rows else None
            softmax = _Softmax(settings, bias, early_divisor, needs_bias=needs_bias)
            scores_buffer = hidden.new_empty(all_rows[0].stop if all_rows else 0, len(weight), dtype=dtype)
            for rows in chunk_sizes.shortened(all_rows):
                chunk = hidden[rows].to(dtype)
                scores = _scores(chunk, matrix, scores_buffer[: len(chunk)])
                logit_grads = softmax.to_gradients_(scores, rows, any(needs))
                if hidden_grad is not None:
                    torch.mm(logit_grads, matrix, out=hidden_grad[rows])
                if needs_weight:
                    without_ignored = chunk * softmax.scored[rows].unsqueeze(1)
                    weight_grad = _added(weight_grad, weight, logit_grads, without_ignored)
            if hidden_grad is not None:
                hidden_grad *= softmax.scored.unsqueeze(1)
            nll, penalty = softmax.nll.sum(), softmax.penalty.sum()
        ctx.save_for_backward(hidden_grad, weight_grad, softmax.bias_grad)
        ctx.dtypes = hidden.dtype, weight.dtype, None if bias is None else bias.dtype
        ctx.mark_non_differentiable(nll)
        return (nll + penalty if settings.z_loss else nll) / settings.divisor, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
        upstream = upstream / ctx.late_divisor
        pairs = zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        hidden_grad, weight_grad, bias_grad = (
            None if gradient is None else _scaled(gradient, upstream, dtype) for gradient, dtype in pairs
        )
        return hidden_grad, weight_grad, bias_grad, None


class _Softmax:
    """Computes nll and z-loss of each row and overwrites its logits with d(loss)/d(logits) / `divisor`.

    A few rows at a time, in fp32 or better. The gradient of the nll is softmax - one_hot(target). The z-loss c L^2,
    with L = logsumexp, scales the softmax by 1 + 2 c L. A softcap multiplies by 1 - tanh^2. The gradients of rows whose
    target is ignored hold any values: the caller multiplies by `scored`, where that takes fewer multiplications.
    """

    def __init__(self, settings: Settings, bias: Tensor | None, divisor: float, *, needs_bias: bool) -> None:
        targets = settings.targets
        self._wide = at_least_fp32(settings.dtype)
        self.scored = targets != IGNORED  # (N,)
        self._columns = targets.where(self.scored, 0).unsqueeze(1)  # (N, 1)
        self._bias, self._softcap, self._z_loss, self._divisor = bias, settings.softcap, settings.z_loss, divisor
        self._buffers: tuple[Tensor, Tensor] | None = None
        self.nll = torch.zeros(len(targets), dtype=self._wide, device=targets.device)
        self.penalty = torch.zeros_like(self.nll)
        self.bias_grad = torch.zeros_like(bias, dtype=self._wide) if needs_bias and bias is not None else None

    def to_gradients_(self, scores: Tensor, rows: slice, needs_gradients: bool) -> Tensor:
        """`scores` (R, V) of `rows`, overwritten by their gradients where these are needed."""
        fitting = chunk_sizes.size_for(scores, chunk_sizes.SOFTMAX_ENTRIES) // scores.shape[1]
        size = max(1, min(fitting, len(scores)))
        if self._buffers is None:
            one, other = (scores.new_empty(size, scores.shape[1], dtype=self._wide) for _ in range(2))
            self._buffers = one, other
        for block in chunk_sizes.shortened(chunk_sizes.slices(len(scores), size)):
            self._block_gradients_(
                scores[block], slice(rows.start + block.start, rows.start + block.stop), needs_gradients
            )
        return scores

    def _block_gradients_(self, scores: Tensor, rows: slice, needs_gradients: bool) -> None:
        assert self._buffers is not None
        wide, logit_grads = (buffer[: len(scores)] for buffer in self._buffers)
        wide.copy_(scores)
        if self._bias is not None:
            wide += self._bias
        cap_(wide, self._softcap)
        scored, columns = self.scored[rows], self._columns[rows]
        torch.softmax(wide, -1, out=logit_grads)  # (r, V)
        # the largest probability is at least 1 / V, so its log is as good as the log of the sum; and the largest score
        # is subtracted first, or a large offset of all scores would take the digits of a small nll
        largest, beyond = wide.amax(-1), -logit_grads.amax(-1).log()  # (r,)
        nll = (largest - wide.gather(1, columns).squeeze(1)) + beyond
        self.nll[rows] = nll.where(scored, 0.0)
        if self._z_loss:
            log_sums = (largest + beyond).where(scored, 0.0)
            self.penalty[rows] = self._z_loss * log_sums.square()
        if not needs_gradients:
            return
        if self._z_loss:
            logit_grads *= (1 + 2 * self._z_loss * log_sums).unsqueeze(1)
        logit_grads.scatter_add_(1, columns, logit_grads.new_full(columns.shape, -1.0))
        if self._softcap is not None:
            logit_grads *= wide.div_(self._softcap).square_().neg_().add_(1)
        if self.bias_grad is not None:
            self.bias_grad.addmv_(logit_grads.t(), scored.to(self._wide) / self._divisor)
        scores.copy_(logit_grads.mul_(1 / self._divisor))  # one pass for both takes longer on a CPU


def _scores(chunk: Tensor, matrix: Tensor, buffer: Tensor) -> Tensor:
    """chunk (R, E) by matrix (V, E), written into `buffer` (R, V)."""
    for tokens in chunk_sizes.blocks(matrix):
        torch.mm(chunk, matrix[tokens].t(), out=buffer[:, tokens])
    return buffer


def _added(gradient: Tensor | None, weight: Tensor, logit_grads: Tensor, chunk: Tensor) -> Tensor:
    """`gradient` of `weight` (V, E) and the share of a chunk: a new one from the first, in fp32 or better."""
    is_first = gradient is None
    total = gradient_buffer(weight, at_least_fp32(chunk.dtype)) if gradient is None else gradient
    for tokens in chunk_sizes.blocks(weight):
        block, across = total[tokens], logit_grads[:, tokens].t()
        if total.dtype == chunk.dtype:
            torch.mm(across, chunk, out=block) if is_first else block.addmm_(across, chunk)
        elif is_first:
            block.copy_(across @ chunk)
        else:
            block += across @ chunk
    return total


def _scaled(gradient: Tensor, upstream: Tensor, dtype: torch.dtype) -> Tensor:
    """`gradient` times `upstream` (), which is 1 unless something besides the divisor scales the loss."""
    if device_type(upstream) == "cpu" and (is_traced() or upstream == 1):  # on a GPU, to look would be to wait
        return gradient.to(dtype)
    return (gradient * upstream.view([1] * gradient.dim())).to(dtype)  # in the wider of both, in one go


def cap_(scores: Tensor, softcap: float | None) -> Tensor:
    """softcap * tanh(scores / softcap), in place; without a softcap `scores` as they are."""
    return scores if softcap is None else scores.div_(softcap).tanh_().mul_(softcap)


def at_least_fp32(dtype: torch.dtype) -> torch.dtype:
    """fp32 for 16-bit types, else `dtype`."""
    return torch.promote_types(dtype, torch.float32)
