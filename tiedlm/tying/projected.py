"""One matrix for both, with a map of the hidden state before it (Press & Wolf 2017; Devlin et al. 2019)."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tiedlm.initialization import Draw, normal_
from tiedlm.tying.base import matrix
from tiedlm.tying.config import ProjectedConfig
from tiedlm.tying.tied import Tied

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": F.gelu, "relu": F.relu, "tanh": torch.tanh}
_NORM_EPS = 1e-5


class Projected(Tied):
    """Tied; hidden states pass through a trained D x D map before they are scored."""

    def __init__(self, config: ProjectedConfig, vocab_size: int, dim: int) -> None:
        super().__init__(config, vocab_size, dim)
        self.starts_as_identity, self.strength = config.projection_init == "identity", config.strength
        self.activation = None if config.activation is None else _ACTIVATIONS[config.activation]
        self.projection = nn.Parameter(matrix(dim, dim))
        self.projection_bias = nn.Parameter(matrix(dim)) if config.bias else None
        self.norm_weight = nn.Parameter(matrix(dim)) if config.norm else None
        self.norm_bias = nn.Parameter(matrix(dim)) if config.norm else None

    def project(self, hidden: Tensor) -> Tensor:
        mapped = F.linear(hidden, self.projection, self.projection_bias).to(hidden.dtype)  # autocast gives 16 bits
        if self.activation is not None:
            mapped = self.activation(mapped)
        if self.norm_weight is not None:
            mapped = F.layer_norm(mapped, mapped.shape[-1:], self.norm_weight, self.norm_bias, _NORM_EPS)
        return mapped

    def forward_flops_per_token(self) -> int:
        return 2 * self.projection.numel()

    def penalty(self) -> Tensor | None:
        return None if self.strength is None else self.strength * torch.linalg.vector_norm(self.projection)

    def initialize(self, draw: Draw) -> None:
        super().initialize(draw)
        if self.starts_as_identity:
            nn.init.eye_(self.projection)
        else:
            normal_(self.projection, len(self.projection) ** -0.5, draw("projection"))
        for vector, value in ((self.projection_bias, 0.0), (self.norm_weight, 1.0), (self.norm_bias, 0.0)):
            if vector is not None:
                nn.init.constant_(vector, value)
