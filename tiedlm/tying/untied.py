"""Two matrices, and the base of all strategies whose output embedding has a parameter of its own."""

import torch
from torch import Tensor, nn

from tiedlm.initialization import Draw
from tiedlm.tying.base import Tying, matrix, starting_std
from tiedlm.tying.config import SeparateOutputConfig


class SeparateOutput(Tying):
    """An input embedding (V, D), and a parameter `output_embedding` with what the output embedding does not share."""

    output_embedding: nn.Parameter

    def __init__(self, config: SeparateOutputConfig, vocab_size: int, dim: int) -> None:
        super().__init__(config, vocab_size, dim)
        self.output_init = config.output_init
        own_std = config.output_init_std
        self.output_init_std = self.init_std if own_std is None else starting_std(own_std, dim)
        self.input_embedding = nn.Parameter(matrix(vocab_size, dim))

    def embed(self, ids: Tensor) -> Tensor:
        return self.lookup(self.input_embedding, ids)

    def input_weight(self) -> Tensor:
        return self.input_embedding.detach()

    def unshared(self, embedding: Tensor) -> Tensor:
        """The entries of an output embedding (V, D) that `output_embedding` holds."""
        raise NotImplementedError

    @torch.no_grad()
    def initialize(self, draw: Draw) -> None:
        """An output embedding (V, D) is drawn and its unshared entries taken: they start as they do in `untied`."""
        super().initialize(draw)
        self.table_init.fill(self.input_embedding, self.init_std, draw("input_embedding"))
        if self.output_init == "copy":
            self.output_embedding.copy_(self.unshared(self.input_embedding))
        elif self.output_init == "zero":
            self.output_embedding.zero_()
        else:
            drawn = torch.empty_like(self.input_embedding)
            self.table_init.fill(drawn, self.output_init_std, draw("output_embedding"))
            self.output_embedding.copy_(self.unshared(drawn))


class Untied(SeparateOutput):
    """The input and the output embedding are two parameters."""

    def __init__(self, config: SeparateOutputConfig, vocab_size: int, dim: int) -> None:
        super().__init__(config, vocab_size, dim)
        self.output_embedding = nn.Parameter(matrix(vocab_size, dim))

    def unshared(self, embedding: Tensor) -> Tensor:
        return embedding

    def output_weight(self) -> Tensor:
        return self.output_embedding.view_as(self.output_embedding)
