"""The vocabulary head: hidden states and a matrix in, negative log-likelihood out, never all logits at once.

One (N, V) tensor of fp32 logits costs more memory than the rest of a small model's step. Here the rows go through in
chunks, and each chunk leaves behind its share of the two gradients instead of its logits. A chunk is as long as matrix
products like it; its softmax is taken a few rows at a time, in fp32, while they are in the processor's cache.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from tiedlm.data.batches import IGNORED as IGNORED
from tiedlm.kernels.gradient_buffers import room_like
from tiedlm.kernels.tracing import device_type, is_traced

_CHUNK_ENTRIES = {"cpu": 1 << 25, "cuda": 1 << 26}
"""Scores in a chunk, at most: with 2 bytes each that is 64 and 128 MiB."""
_FEWEST_ROWS = 256
"""A chunk has as many all the same: with fewer, adding up the gradient of the matrix takes longer than forming it."""
_MOST_ROWS = {"cpu": 512, "cuda": 8192}
_BLOCK_TOKENS = {"cpu": 8192, "cuda": 1 << 62}
"""Rows of the matrix in one product: on a CPU more are slower, and what is rounded before it is added takes room."""
_SOFTMAX_ENTRIES = {"cpu": 1 << 19, "cuda": 1 << 25}
_FEW = 3
"""Chunks in a trace: the second is made while the first is still held, and so is every further one."""


def nll(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    bias: Tensor | None = None,
    chunk_rows: int | None = None,
    softcap: float | None = None,
) -> Tensor:
    """Sum of negative log-likelihoods in nats over the targets that are not IGNORED.

    hidden (N, E), weight (V, E), targets (N,), bias (V,) or None. Matrix products run in the autocast dtype where
    autocast is on, else in the dtype of `hidden`; softmax, loss and both gradients' sums in fp32 (float64 stays
    float64). A `softcap` s makes a score z, bias included, s tanh(z / s). A chunk has `chunk_rows` at most, or as many
    as suit V and the device. Returns a () tensor.
    """
    return objective(hidden, weight, targets, bias, chunk_rows, softcap)[0]


def objective(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    bias: Tensor | None = None,
    chunk_rows: int | None = None,
    softcap: float | None = None,
    z_loss: float = 0.0,
    divisor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """`nll` plus `z_loss` times the sum of (log sum exp z)^2 over the rows that it scores, and that nll alone, both ().

    The second has no gradient. With a softcap z are the capped scores, those that the softmax sees. The first is
    divided by `divisor` here, which spares its gradients a pass over the matrix.
    """
    dtype = _product_dtype(hidden)
    with_gradients = torch.is_grad_enabled()  # inside an autograd function it always reads False
    arguments = hidden, weight, targets, bias, chunk_rows, softcap, z_loss, divisor, dtype, with_gradients
    result: tuple[Tensor, Tensor] = _ChunkedNll.apply(*arguments)  # type: ignore[no-untyped-call]
    return result


def full_objective(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    bias: Tensor | None = None,
    softcap: float | None = None,
    z_loss: float = 0.0,
    divisor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """`objective` by way of all scores at once, in fp32 or better, and torch's own gradients: more memory, as exact.

    The product runs in the same dtype.
    """
    dtype = _product_dtype(hidden)
    wide = _at_least_fp32(dtype)
    with torch.autocast(hidden.device.type, enabled=False):
        scores = F.linear(hidden.to(dtype), weight.to(dtype)).to(wide)  # (N, V)
        scores = _capped(scores if bias is None else scores + bias, softcap)
        nll = F.cross_entropy(scores, targets, ignore_index=IGNORED, reduction="sum")
        total = nll
        if z_loss:
            total = nll + z_loss * scores.logsumexp(-1).where(targets != IGNORED, 0.0).square().sum()
    return total / divisor, nll.detach()


@torch.no_grad()
def token_nll(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    bias: Tensor | None = None,
    chunk_rows: int | None = None,
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
    chunk_rows: int | None = None,
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
    chunk_rows: int | None,
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
        # without gradients nothing is won by more; in fp32, and twice, they would be the peak of a run that validates
        for rows in _chunks(len(targets), chunk_rows or _chunk_rows(weight, _SOFTMAX_ENTRIES)):
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
        return _capped(scores, softcap)


def chunk_lengths(num_rows: int, weight: Tensor, dtype: torch.dtype) -> set[int]:
    """How many rows the chunks have in which so many go through in training."""
    return {rows.stop - rows.start for rows in _chunks(num_rows, _training_rows(weight, dtype))}


def _chunk_rows(weight: Tensor, entries: dict[str, int]) -> int:
    """The most rows that go through at once, where so many scores may."""
    fitting = _size_for(weight, entries) // len(weight)
    return min(max(fitting, _FEWEST_ROWS), _size_for(weight, _MOST_ROWS))


def _size_for(tensor: Tensor, sizes: dict[str, int]) -> int:
    return sizes.get(device_type(tensor), sizes["cpu"])


def _training_rows(weight: Tensor, dtype: torch.dtype) -> int:
    """In fp16 few: the sums over more rows may overflow, before any loss scale joins."""
    return _FEWEST_ROWS if dtype == torch.float16 else _chunk_rows(weight, _CHUNK_ENTRIES)


class _ChunkedNll(torch.autograd.Function):
    """Forms the gradients on the way forward and multiplies them by what comes from above on the way back.

    In fp16 the divisor joins there: divided first, small probabilities would vanish.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        targets: Tensor,
        bias: Tensor | None,
        chunk_rows: int | None,
        softcap: float | None,
        z_loss: float,
        divisor: float,
        dtype: torch.dtype,
        with_gradients: bool,
    ) -> tuple[Tensor, Tensor]:
        needs = [with_gradients and need for need in ctx.needs_input_grad[:4]]
        needs_hidden, needs_weight, needs_bias = needs[0], needs[1], needs[3]
        chunks = _chunks(len(targets), chunk_rows or _training_rows(weight, dtype))
        with torch.autocast(hidden.device.type, enabled=False):
            matrix = weight.to(dtype)
            hidden_grad = torch.empty_like(hidden, dtype=dtype) if needs_hidden else None
            weight_grad: Tensor | None = torch.zeros_like(weight) if needs_weight and not chunks else None
            ctx.late_divisor, early_divisor = (divisor, 1.0) if dtype == torch.float16 else (1.0, divisor)
            softmax = _Softmax(targets, bias, softcap, z_loss, early_divisor, dtype, needs_bias)
            room = hidden.new_empty(chunks[0].stop if chunks else 0, len(weight), dtype=dtype)
            for rows in _few(chunks):
                part = hidden[rows].to(dtype)
                scores = _scores(part, matrix, room[: len(part)])
                errors = softmax.errors_(scores, rows, any(needs))
                if hidden_grad is not None:
                    torch.mm(errors, matrix, out=hidden_grad[rows])
                if needs_weight:
                    scored = part * softmax.scored[rows].unsqueeze(1)
                    weight_grad = _added(weight_grad, weight, errors, scored)
            if hidden_grad is not None:
                hidden_grad *= softmax.scored.unsqueeze(1)
            nll, penalty = softmax.nll.sum(), softmax.penalty.sum()
        ctx.save_for_backward(hidden_grad, weight_grad, softmax.bias_grad)
        ctx.dtypes = hidden.dtype, weight.dtype, None if bias is None else bias.dtype
        ctx.mark_non_differentiable(nll)
        return (nll + penalty if z_loss else nll) / divisor, nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
        upstream = upstream / ctx.late_divisor
        pairs = zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        hidden_grad, weight_grad, bias_grad = (
            None if gradient is None else _scaled(gradient, upstream, dtype) for gradient, dtype in pairs
        )
        return hidden_grad, weight_grad, None, bias_grad, *[None] * 6


class _Softmax:
    """What becomes of the scores of a chunk, a few rows at a time and in fp32 or better.

    Of every row its nll and its share of the z-loss, and in the place of its scores the gradient of both by them, over
    the divisor: of the nll softmax minus the one-hot target. With the penalty c L^2, L the log of the row's sum, the
    softmax weighs 1 + 2 c L. A cap has the slope 1 - tanh^2. What stands in the rows of ignored targets is for nobody:
    they count as 0 later, where that takes fewer multiplications.
    """

    def __init__(
        self,
        targets: Tensor,
        bias: Tensor | None,
        softcap: float | None,
        z_loss: float,
        divisor: float,
        dtype: torch.dtype,
        needs_bias: bool,
    ) -> None:
        self._wide = _at_least_fp32(dtype)
        self.scored = targets != IGNORED  # (N,)
        self._columns = targets.where(self.scored, 0).unsqueeze(1)  # (N, 1)
        self._bias, self._softcap, self._z_loss, self._divisor = bias, softcap, z_loss, divisor
        self._rooms: tuple[Tensor, Tensor] | None = None
        self.nll = torch.zeros(len(targets), dtype=self._wide, device=targets.device)
        self.penalty = torch.zeros_like(self.nll)
        self.bias_grad = torch.zeros_like(bias, dtype=self._wide) if needs_bias and bias is not None else None

    def errors_(self, scores: Tensor, rows: slice, needs_errors: bool) -> Tensor:
        """`scores` (R, V) of `rows`, which become their errors where these are needed."""
        size = max(1, min(_size_for(scores, _SOFTMAX_ENTRIES) // scores.shape[1], len(scores)))
        if self._rooms is None:
            one, other = (scores.new_empty(size, scores.shape[1], dtype=self._wide) for _ in range(2))
            self._rooms = one, other
        for some in _few(_chunks(len(scores), size)):
            here = slice(rows.start + some.start, rows.start + some.stop)
            self._few_errors_(scores[some], here, needs_errors)
        return scores

    def _few_errors_(self, scores: Tensor, rows: slice, needs_errors: bool) -> None:
        assert self._rooms is not None
        wide, errors = (room[: len(scores)] for room in self._rooms)
        wide.copy_(scores)
        if self._bias is not None:
            wide += self._bias
        _cap_(wide, self._softcap)
        scored, columns = self.scored[rows], self._columns[rows]
        torch.softmax(wide, -1, out=errors)  # (r, V)
        # the largest probability is at least 1 / V, so its log is as good as the log of the sum; and what all scores
        # have in common goes first, or it would take the digits of a small nll
        largest, beyond = wide.amax(-1), -errors.amax(-1).log()  # (r,)
        nll = (largest - wide.gather(1, columns).squeeze(1)) + beyond
        self.nll[rows] = nll.where(scored, 0.0)
        if self._z_loss:
            log_sums = (largest + beyond).where(scored, 0.0)
            self.penalty[rows] = self._z_loss * log_sums.square()
        if not needs_errors:
            return
        if self._z_loss:
            errors *= (1 + 2 * self._z_loss * log_sums).unsqueeze(1)
        errors.scatter_add_(1, columns, errors.new_full(columns.shape, -1.0))
        if self._softcap is not None:
            errors *= wide.div_(self._softcap).square_().neg_().add_(1)
        if self.bias_grad is not None:
            self.bias_grad.addmv_(errors.t(), scored.to(self._wide) / self._divisor)
        scores.copy_(errors.mul_(1 / self._divisor))  # one pass for both takes longer on a CPU


def _scores(part: Tensor, matrix: Tensor, room: Tensor) -> Tensor:
    """part (R, E) by matrix (V, E) in `room` (R, V)."""
    for tokens in _blocks(matrix):
        torch.mm(part, matrix[tokens].t(), out=room[:, tokens])
    return room


def _added(gradient: Tensor | None, weight: Tensor, errors: Tensor, part: Tensor) -> Tensor:
    """`gradient` of `weight` (V, E) and the share of a chunk: a new one from the first, in fp32 or better."""
    is_first = gradient is None
    total = room_like(weight, _at_least_fp32(part.dtype)) if gradient is None else gradient
    for tokens in _blocks(weight):
        block, across = total[tokens], errors[:, tokens].t()
        if total.dtype == part.dtype:
            torch.mm(across, part, out=block) if is_first else block.addmm_(across, part)
        elif is_first:
            block.copy_(across @ part)
        else:
            block += across @ part
    return total


def _scaled(gradient: Tensor, upstream: Tensor, dtype: torch.dtype) -> Tensor:
    """`gradient` times `upstream` (), which is 1 where nothing but the divisor comes between."""
    if device_type(upstream) == "cpu" and (is_traced() or upstream == 1):  # on a GPU, to look would be to wait
        return gradient.to(dtype)
    return (gradient * upstream.view([1] * gradient.dim())).to(dtype)  # in the wider of both, in one go


def _blocks(matrix: Tensor) -> list[slice]:
    return _few(_chunks(len(matrix), _size_for(matrix, _BLOCK_TOKENS)))


def _cap_(scores: Tensor, softcap: float | None) -> Tensor:
    """`scores` in their place become softcap * tanh(scores / softcap); without a softcap they stay."""
    return scores if softcap is None else scores.div_(softcap).tanh_().mul_(softcap)


def _capped(scores: Tensor, softcap: float | None) -> Tensor:
    """The same, and `scores` stay: autograd goes through it."""
    return scores if softcap is None else softcap * torch.tanh(scores / softcap)


def _chunks(length: int, size: int) -> list[slice]:
    """As few as `size` allows, and as nearly of one length as can be; the first is one of the longest."""
    count = -(-length // size)
    longest = -(-length // count) if count else 0
    return [slice(start, min(start + longest, length)) for start in range(0, length, longest or 1)]


def _few(chunks: list[slice]) -> list[slice]:
    return chunks[:_FEW] if is_traced() else chunks


def _product_dtype(hidden: Tensor) -> torch.dtype:
    """That of autocast where it is on."""
    device = hidden.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype


def _at_least_fp32(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)
