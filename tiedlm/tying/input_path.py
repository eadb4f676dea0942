"""From a table and ids to the vectors that the body reads, and what may happen to them on the way."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from tiedlm.traced import device_type, is_traced
from tiedlm.tying.config import EmbeddingConfig

NORM_EPS = 1e-5


class InputPath(nn.Module):
    """Lookup, dropout of whole tokens, scale, norm, noise, in this order; without parameters of its own.

    Dropout and noise act in training only. `gradient_factor` multiplies what goes back from the vectors to the table,
    and nothing on the way forward.
    """

    def __init__(self, config: EmbeddingConfig, dim: int) -> None:
        super().__init__()
        self.scale = dim**0.5 if config.input_scale == "sqrt_dim" else config.input_scale
        self.dropout, self.noise, self.norm = config.embedding_dropout, config.embedding_noise, config.embedding_norm
        self.gradient_factor = config.input_gradient_factor

    def forward(self, table: Tensor, ids: Tensor, *, joins: bool = False) -> Tensor:
        """table (V, E), ids (B, T) -> (B, T, E).

        Where the gradient of the table `joins` that of another use, it need not be a whole matrix of zeros with a few
        rows of its own: those rows are added to the other. The sums are the same, to the last bit.
        """
        # a GPU would wait to know how many rows there are, and a compiler would have two graphs where others have one
        if joins and not torch.compiler.is_compiling() and device_type(table) == "cpu":
            vectors: Tensor = _Rows.apply(table, ids)  # type: ignore[no-untyped-call]
        else:
            vectors = F.embedding(ids, table.view_as(table))
        if self.gradient_factor != 1.0:
            vectors = _ScaledGradient.apply(vectors, self.gradient_factor)  # type: ignore[no-untyped-call]
        if self.training and self.dropout:
            vectors = vectors * self._kept(table)[ids]
        if self.scale != 1.0:
            vectors = vectors * self.scale
        if self.norm == "layernorm":
            vectors = F.layer_norm(vectors, vectors.shape[-1:], eps=NORM_EPS)
        elif self.norm == "rmsnorm":
            vectors = F.rms_norm(vectors, vectors.shape[-1:], eps=NORM_EPS)
        if self.training and self.noise:
            vectors = vectors + self.noise * torch.randn_like(vectors)
        return vectors

    def _kept(self, table: Tensor) -> Tensor:
        """For each token of the vocabulary 0 where it is dropped, else what makes up for those that are: (V, 1)."""
        keep = 1 - self.dropout
        return torch.empty_like(table[:, :1]).bernoulli_(keep).div_(keep)


class _Rows(torch.autograd.Function):
    """The lookup, whose gradient is sparse: the rows that were read, each with the sum of what its tokens give."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.shape = table.shape
        return F.embedding(ids, table)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None]:
        if is_traced():  # the rows join a gradient that is there: that takes no more room
            return None, None
        read, places = ctx.saved_tensors[0].flatten().unique(return_inverse=True)
        sums = gradient.new_zeros(len(read), ctx.shape[1]).index_add_(0, places, gradient.flatten(0, -2))
        rows = torch.sparse_coo_tensor(read.unsqueeze(0), sums, ctx.shape, is_coalesced=True, check_invariants=False)
        return rows, None


class _ScaledGradient(torch.autograd.Function):
    """The identity, whose gradient is multiplied."""

    @staticmethod
    def forward(ctx: Any, vectors: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return vectors.view_as(vectors)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * ctx.factor, None
