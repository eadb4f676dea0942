"""From a table and ids to the vectors that the body reads, and what may happen to them on the way."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from tiedlm.kernels.tracing import device_type, is_traced
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

    def forward(self, table: Tensor, ids: Tensor) -> Tensor:
        """table (V, E), ids (B, T) -> (B, T, E)."""
        return self._onwards(F.embedding(ids, table.view_as(table)), table, ids)

    def beside(self, table: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        """The same, and the table as the head reads it (V, E).

        The gradient of the lookup need not be a whole matrix of zeros with a few rows of its own then: those rows are
        added to the gradient from the head. The sums are the same, to the last bit.
        """
        # a GPU would wait to know how many rows there are, and a compiler would have two graphs where others have one
        if torch.compiler.is_compiling() or device_type(table) != "cpu":
            return self(table, ids), table.view_as(table)
        vectors, whole = _Beside.apply(table, ids)  # type: ignore[no-untyped-call]
        return self._onwards(vectors, table, ids), whole

    def _onwards(self, vectors: Tensor, table: Tensor, ids: Tensor) -> Tensor:
        """What happens to the rows (B, T, E) of `table` that `ids` name."""
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


class _Beside(torch.autograd.Function):
    """The lookup, and the whole table for the head, whose gradients are added here."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(ids)
        ctx.shape = table.shape
        return F.embedding(ids, table), table.view_as(table)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_rows: Tensor | None, of_whole: Tensor | None) -> tuple[Tensor | None, None]:
        """of_rows (B, T, E), of_whole (V, E); where the head reads another table, the sum is sparse."""
        if of_rows is None or is_traced():  # a trace cannot tell how many rows there are; they take little room
            return of_whole, None
        read, places = ctx.saved_tensors[0].flatten().unique(return_inverse=True)
        sums = of_rows.new_zeros(len(read), ctx.shape[1]).index_add_(0, places, of_rows.flatten(0, -2))
        if of_whole is None:
            rows = torch.sparse_coo_tensor(
                read.unsqueeze(0), sums, ctx.shape, is_coalesced=True, check_invariants=False
            )
            return rows, None
        total = of_whole.contiguous()  # the head has made it for this, nobody else reads it
        return total.index_add_(0, read, sums), None


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
