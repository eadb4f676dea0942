"""Two matrices, and where the second one starts."""

import torch
from torch import Tensor, nn

from tiedlm.initialization import Draw, normal_
from tiedlm.tying.base import Tying, matrix
from tiedlm.tying.config import UntiedConfig


class Untied(Tying):
    """The input and the output embedding are two parameters."""

    def __init__(self, config: UntiedConfig, vocab_size: int, dim: int) -> None:
        super().__init__(config, vocab_size, dim)
        self.output_init = config.output_init
        self.output_init_std = config.init_std if config.output_init_std is None else config.output_init_std
        self.input_embedding = nn.Parameter(matrix(vocab_size, dim))
        self.output_embedding = nn.Parameter(matrix(vocab_size, dim))

    def embed(self, ids: Tensor) -> Tensor:
        return self.lookup(self.input_embedding, ids)

    def output_weight(self) -> Tensor:
        return self.output_embedding.view_as(self.output_embedding)

    @torch.no_grad()
    def initialize(self, draw: Draw) -> None:
        super().initialize(draw)
        normal_(self.input_embedding, self.init_std, draw("input_embedding"))
        if self.output_init == "copy":
            self.output_embedding.copy_(self.input_embedding)
        elif self.output_init == "zero":
            self.output_embedding.zero_()
        else:
            normal_(self.output_embedding, self.output_init_std, draw("output_embedding"))
