"""The vocabulary head in the ways in which trainers compute it, and the same in float64.

N rows, D width, V vocabulary. A way takes hidden (N, D), weight (V, D), targets (N,) and gives the mean negative
log-likelihood, (); autograd gives the gradients.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from tiedlm.kernels import nll as head

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
Gradients = tuple[Tensor, Tensor, Tensor]
"""The mean loss (), and its gradients by hidden states (N, D) and weight (V, D)."""
FULL = "full"
_REFERENCE_ROWS = 256
_STRENGTH = 2.0
"""How far a hidden state points to its target: the loss comes out at some nats, as that of a trained model does."""


@dataclass(frozen=True)
class Inputs:
    """What a head is given, fp32 as the final norm and the parameters are."""

    hidden: Tensor
    weight: Tensor
    targets: Tensor

    @classmethod
    def draw(cls, num_rows: int, dim: int, vocab_size: int, device: torch.device) -> "Inputs":
        """Made up; scores have a standard deviation of about 2, and a target stands out from them."""
        generator = torch.Generator(device).manual_seed(0)
        draw = partial(torch.randn, device=device, generator=generator)
        weight = 2 * draw(vocab_size, dim) / dim**0.5
        targets = torch.randint(vocab_size, (num_rows,), device=device, generator=generator)
        hidden = draw(num_rows, dim) + _STRENGTH * weight[targets]
        return cls(hidden.requires_grad_(), weight.requires_grad_(), targets)

    @property
    def flops(self) -> int:
        """Of value and gradients: three products of N x D x V, two operations each."""
        return 6 * self.weight.numel() * len(self.hidden)


@dataclass(frozen=True)
class Way:
    """A way to compute the head."""

    name: str
    loss: Loss

    def gradients(self, inputs: Inputs, precision: str) -> Gradients:
        """Value and gradients as a step of training forms them."""
        device = inputs.hidden.device.type
        with torch.autocast(device, dtype=torch.bfloat16, enabled=precision == "bf16"):
            loss = self.loss(inputs.hidden, inputs.weight, inputs.targets)
        hidden_grad, weight_grad = torch.autograd.grad(loss, (inputs.hidden, inputs.weight))
        return loss.detach(), hidden_grad, weight_grad


def ways(chunk_sizes: tuple[int, ...], device: torch.device, *, compiled: bool) -> list[Way]:
    """All that run on a device, that over full logits first; those that need a compiler only where asked for."""
    middle = chunk_sizes[len(chunk_sizes) // 2]
    found = [Way(FULL, full), Way("ours", ours)]
    found += [Way(f"ours, {size} rows", partial(ours, chunk_rows=size)) for size in chunk_sizes]
    found += [Way(f"recomputed, {middle} rows", partial(recomputed, chunk_rows=middle))]
    if hasattr(F, "linear_cross_entropy"):
        found.append(Way("linear_cross_entropy", torch_chunked))
    add = add_rounded
    if device.type == "cuda":
        add = add_wide
        eager = ChunkByChunk(chunk_errors, add)
        found += [Way(f"fp32 sums, {size} rows", partial(eager, chunk_rows=size)) for size in chunk_sizes]
    if compiled:
        found.append(Way("full, compiled", torch.compile(full, dynamic=False)))
        chunks = ChunkByChunk(torch.compile(chunk_errors, dynamic=False), add)
        found += [Way(f"compiled, {size} rows", partial(chunks, chunk_rows=size)) for size in chunk_sizes]
    return found


def ours(hidden: Tensor, weight: Tensor, targets: Tensor, chunk_rows: int | None = None) -> Tensor:
    """The head of the models here, in chunks of as many rows as it takes by itself unless said."""
    return head.objective(hidden, weight, targets, chunk_rows=chunk_rows, divisor=len(targets))[0]


def full(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """Over all logits at once, with the softmax in fp32, as Hugging Face's models and nanoGPT do it."""
    return F.cross_entropy(F.linear(hidden, weight).float(), targets)


def recomputed(hidden: Tensor, weight: Tensor, targets: Tensor, chunk_rows: int) -> Tensor:
    """`full` chunk by chunk, the logits of each formed again on the way back."""
    total = torch.zeros((), device=hidden.device)
    for rows in _chunks(len(targets), chunk_rows):
        part: Any = checkpoint(full, hidden[rows], weight, targets[rows], use_reentrant=False)
        total = total + part * len(targets[rows])
    return total / len(targets)


def torch_chunked(hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """torch's own head in chunks, where it has one. It does not look at autocast, so it is given what autocast casts.

    Its loss has the precision of its inputs: for its speed alone, never for a number that is reported.
    """
    device = hidden.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
    options = nn.LinearCrossEntropyOptions()
    with torch.autocast(device, enabled=False):
        loss: Tensor = F.linear_cross_entropy(hidden.to(dtype), weight.to(dtype), targets, options=options)
    return loss.float()


def chunk_errors(scores: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """scores (R, V) -> their nll in fp32, (), and their gradient, softmax minus one-hot, in the precision of `scores`.

    Written without an index into the scores' copy, so that a compiler makes one kernel of all that follows the sum.
    """
    wide = scores.float()
    log_sums = torch.logsumexp(wide, -1, keepdim=True)  # (R, 1)
    nll = (log_sums - wide.gather(-1, targets.unsqueeze(-1))).sum()
    is_target = torch.arange(scores.shape[-1], device=scores.device) == targets.unsqueeze(-1)
    return nll, ((wide - log_sums).exp() - is_target.float()).to(scores.dtype)


def add_rounded(total: Tensor, one: Tensor, other: Tensor) -> None:
    """total += one @ other, the product rounded to the precision of its factors first."""
    total += one @ other


def add_wide(total: Tensor, one: Tensor, other: Tensor) -> None:
    """total += one @ other in one kernel, in the precision of `total`; where that is not theirs, on CUDA alone."""
    if one.dtype == total.dtype:
        total.addmm_(one, other)
    else:
        torch.addmm(total, one, other, out_dtype=total.dtype, out=total)


@dataclass(frozen=True)
class ChunkByChunk:
    """Chunks that leave gradients instead of logits, made of parts that can be exchanged.

    `chunk` is what lies between the products, `add` adds a product to the weight's gradient.
    """

    chunk: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
    add: Callable[[Tensor, Tensor, Tensor], None] = add_rounded

    def __call__(self, hidden: Tensor, weight: Tensor, targets: Tensor, chunk_rows: int) -> Tensor:
        device = hidden.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
        result: Tensor = _ChunkByChunk.apply(hidden, weight, targets, chunk_rows, dtype, self)  # type: ignore[no-untyped-call]
        return result / len(targets)


class _ChunkByChunk(torch.autograd.Function):
    """The gradients of the sum are formed on the way forward and scaled on the way back."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        targets: Tensor,
        chunk_rows: int,
        dtype: torch.dtype,
        parts: ChunkByChunk,
    ) -> Tensor:
        with torch.autocast(hidden.device.type, enabled=False):
            low, matrix = hidden.to(dtype), weight.to(dtype)
            nll = torch.zeros((), device=hidden.device)
            hidden_grad, weight_grad = torch.empty_like(low), torch.zeros_like(weight)
            for rows in _chunks(len(targets), chunk_rows):
                loss, errors = parts.chunk(low[rows] @ matrix.t(), targets[rows])  # (), (R, V)
                nll += loss
                torch.mm(errors, matrix, out=hidden_grad[rows])
                parts.add(weight_grad, errors.t(), low[rows])
        ctx.save_for_backward(hidden_grad, weight_grad)
        return nll

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        hidden_grad, weight_grad = ctx.saved_tensors
        return hidden_grad.float() * upstream, weight_grad * upstream, None, None, None, None


@torch.no_grad()
def reference(inputs: Inputs) -> Gradients:
    """Value and gradients in float64, by their formulas, a few rows at a time."""
    hidden, weight = inputs.hidden.double(), inputs.weight.double()
    loss = torch.zeros((), dtype=torch.float64, device=hidden.device)
    hidden_grad, weight_grad = torch.empty_like(hidden), torch.zeros_like(weight)
    for rows in _chunks(len(hidden), _REFERENCE_ROWS):
        targets = inputs.targets[rows].unsqueeze(1)
        log_probabilities = (hidden[rows] @ weight.t()).log_softmax(-1)  # (R, V)
        loss -= log_probabilities.gather(1, targets).sum()
        errors = log_probabilities.exp_().scatter_add_(1, targets, -torch.ones_like(targets, dtype=torch.float64))
        hidden_grad[rows] = errors @ weight
        weight_grad += errors.t() @ hidden[rows]
    scale = len(hidden)
    return loss / scale, hidden_grad / scale, weight_grad / scale


def relative_errors(found: Gradients, right: Gradients) -> tuple[float, ...]:
    """Of each: the norm of what is wrong over the norm of what is right."""
    return tuple(float((one.double() - other).norm() / other.norm()) for one, other in zip(found, right, strict=True))


def _chunks(length: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, length)) for start in range(0, length, size))
