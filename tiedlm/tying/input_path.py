"""From a table and ids to the vectors that the body reads."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tiedlm.kernels.lookup import lookup, scaled_gradient
from tiedlm.tying.config import EmbeddingConfig

NORM_EPS = 1e-5


class InputPath(nn.Module):
    """Lookup, dropout of whole tokens, scale, norm, noise, in this order; without parameters of its own.

    Dropout and noise act in training only. `gradient_factor` multiplies the gradient that goes back from the vectors
    to the table, and changes nothing in the forward pass.
    """

    def __init__(self, config: EmbeddingConfig, dim: int) -> None:
        super().__init__()
        self.scale = dim**0.5 if config.input_scale == "sqrt_dim" else config.input_scale
        self.dropout, self.noise, self.norm = config.embedding_dropout, config.embedding_noise, config.embedding_norm
        self.gradient_factor = config.input_gradient_factor

    def forward(self, table: Tensor, ids: Tensor) -> Tensor:
        """table (V, E), ids (B, T) -> (B, T, E)."""
        vectors = lookup(table, ids)
        if self.gradient_factor != 1.0:
            vectors = scaled_gradient(vectors, self.gradient_factor)
        if self.training and self.dropout:
            vectors = vectors * self._token_mask(table)[ids]
        if self.scale != 1.0:
            vectors = vectors * self.scale
        if self.norm == "layernorm":
            vectors = F.layer_norm(vectors, vectors.shape[-1:], eps=NORM_EPS)
        elif self.norm == "rmsnorm":
            vectors = F.rms_norm(vectors, vectors.shape[-1:], eps=NORM_EPS)
        if self.training and self.noise:
            vectors = vectors + self.noise * torch.randn_like(vectors)
        return vectors

    def _token_mask(self, table: Tensor) -> Tensor:
        """For each token 0 where it is dropped, else 1 / (1 - dropout), which keeps the mean: (V, 1)."""
        keep = 1 - self.dropout
        return torch.empty_like(table[:, :1]).bernoulli_(keep).div_(keep)
