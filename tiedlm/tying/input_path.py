"""From a table and ids to the vectors that the body reads."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tiedlm.kernels.lookup import lookup, scaled_gradient
from tiedlm.streams import stream_seed
from tiedlm.tying.config import EmbeddingConfig

NORM_EPS = 1e-5


class InputPath(nn.Module):
    """Lookup, dropout of whole tokens, scale, norm, noise, in this order; without parameters of its own.

    Dropout and noise act in training only. They draw from streams of their own once `seed` was called, so that the
    body's dropout masks are the same whatever is drawn here; before, from torch's. `gradient_factor` multiplies the
    gradient that goes back from the vectors to the table, and changes nothing in the forward pass.
    """

    def __init__(self, config: EmbeddingConfig, dim: int) -> None:
        super().__init__()
        self.scale = dim**0.5 if config.input_scale == "sqrt_dim" else config.input_scale
        self.dropout, self.noise, self.norm = config.embedding_dropout, config.embedding_noise, config.embedding_norm
        self.gradient_factor = config.input_gradient_factor
        self._seed: int | None = None
        self._num_draws = 0

    @property
    def draws(self) -> bool:
        """Whether anything is random here in training."""
        return bool(self.dropout or self.noise)

    def seed(self, seed: int) -> None:
        """Name the micro-batch that comes next: equal seeds give equal masks and noise."""
        self._seed, self._num_draws = seed, 0

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
            vectors = vectors + self.noise * self._noise_like(vectors)
        return vectors

    def _token_mask(self, table: Tensor) -> Tensor:
        """For each token 0 where it is dropped, else 1 / (1 - dropout), which keeps the mean: (V, 1)."""
        keep = 1 - self.dropout
        return torch.empty_like(table[:, :1]).bernoulli_(keep, generator=self._stream("dropout", table)).div_(keep)

    def _noise_like(self, vectors: Tensor) -> Tensor:
        """Normal with deviation 1, of the shape of `vectors`."""
        stream = self._stream("noise", vectors)
        return torch.randn(vectors.shape, dtype=vectors.dtype, device=vectors.device, generator=stream)

    def _stream(self, name: str, beside: Tensor) -> torch.Generator | None:
        """A stream for one draw on the device of a tensor; None: torch's own."""
        if self._seed is None:
            return None
        self._num_draws += 1
        return torch.Generator(beside.device).manual_seed(stream_seed(self._seed, name, self._num_draws))
