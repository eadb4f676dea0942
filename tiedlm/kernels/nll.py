"""Negative log-likelihoods of the vocabulary head, without all logits at once.

N rows, E width of the output embedding, V vocabulary. One (N, V) tensor of fp32 logits costs more memory than the rest
of a small model's step. `objective` takes the rows in chunks (see `chunked_nll`) and must equal `full_objective`,
which is the plain function. Both run matrix products in the autocast dtype where autocast is on, else in the dtype of
`hidden`; softmax and sums are in fp32 (float64 stays float64).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from tiedlm.data.batches import IGNORED as IGNORED
from tiedlm.kernels import chunk_sizes
from tiedlm.kernels.chunked_nll import Settings, at_least_fp32, cap_, chunked_objective, training_rows


def nll(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    bias: Tensor | None = None,
    chunk_rows: int | None = None,
    softcap: float | None = None,
) -> Tensor:
    """Sum of negative log-likelihoods in nats over the targets that are not IGNORED, ().

    hidden (N, E), weight (V, E), targets (N,), bias (V,) or None. A `softcap` s makes a score z, bias included,
    s tanh(z / s). A chunk has at most `chunk_rows` rows; None: as many as suit V and the device.
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
    """`nll` plus `z_loss` times the sum of (log sum exp z)^2 over the scored rows, and that nll alone, both ().

    With a softcap z are the capped scores. The first is divided by `divisor` here, which spares its gradients a pass
    over the matrix. The second is not divided and has no gradient.
    """
    with_gradients = torch.is_grad_enabled()  # inside an autograd function it always reads False
    dtype = _product_dtype(hidden)
    settings = Settings(targets, chunk_rows, softcap, z_loss, divisor, dtype, with_gradients)
    return chunked_objective(hidden, weight, bias, settings)


def full_objective(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    bias: Tensor | None = None,
    softcap: float | None = None,
    z_loss: float = 0.0,
    divisor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """The plain `objective`: all scores (N, V) at once, and gradients by autograd."""
    dtype = _product_dtype(hidden)
    with torch.autocast(hidden.device.type, enabled=False):
        scores = F.linear(hidden.to(dtype), weight.to(dtype)).to(at_least_fp32(dtype))  # (N, V)
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

    membership (V, G) holds 1 where a token is in a group, else 0. A row whose target is IGNORED gives 0.
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
    wide = at_least_fp32(hidden.dtype)
    nll = torch.empty(targets.shape, dtype=wide, device=hidden.device)
    groups = None if membership is None else membership.to(wide)
    mass = torch.zeros(len(targets), 0 if groups is None else groups.shape[1], dtype=wide, device=hidden.device)
    # chunks are smaller than in training: of fp32 scores, and of their softmax, more would be the peak of a run
    size = chunk_rows or chunk_sizes.max_rows(weight, chunk_sizes.SOFTMAX_ENTRIES)
    with torch.autocast(hidden.device.type, enabled=False):
        matrix, offset = weight.to(wide), None if bias is None else bias.to(wide)
        for rows in chunk_sizes.slices(len(targets), size):
            scores = cap_(F.linear(hidden[rows].to(wide), matrix, offset), softcap)  # (R, V)
            nll[rows] = F.cross_entropy(scores, targets[rows], ignore_index=IGNORED, reduction="none")
            if groups is not None:
                mass[rows] = scores.softmax(-1) @ groups * (targets[rows] != IGNORED).unsqueeze(1)
    return nll, mass


def logits(hidden: Tensor, weight: Tensor, bias: Tensor | None = None, softcap: float | None = None) -> Tensor:
    """All scores at once, (..., V), in fp32 or better: for a few positions and for tests."""
    wide = at_least_fp32(hidden.dtype)
    with torch.autocast(hidden.device.type, enabled=False):
        scores = F.linear(hidden.to(wide), weight.to(wide), None if bias is None else bias.to(wide))
        return _capped(scores, softcap)


def chunk_lengths(num_rows: int, weight: Tensor, dtype: torch.dtype) -> set[int]:
    """How many rows the chunks have in which `num_rows` go through in training."""
    return {rows.stop - rows.start for rows in chunk_sizes.slices(num_rows, training_rows(weight, dtype))}


def _capped(scores: Tensor, softcap: float | None) -> Tensor:
    """softcap * tanh(scores / softcap), out of place for autograd; without a softcap `scores`."""
    return scores if softcap is None else softcap * torch.tanh(scores / softcap)


def _product_dtype(hidden: Tensor) -> torch.dtype:
    """That of autocast where it is on."""
    device = hidden.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
