"""Two matrices, and where the second one starts."""

import torch
from torch import Tensor, nn

from tiedlm.initialization import Draw
from tiedlm.tying.base import Tying, matrix
from tiedlm.tying.config import OwnOutputConfig


class OwnOutput(Tying):
    """An input embedding (V, D), and something of the output embedding that is not a part of it: `output_embedding`."""

    output_embedding: nn.Parameter

    def __init__(self, config: OwnOutputConfig, vocab_size: int, dim: int) -> None:
        super().__init__(config, vocab_size, dim)
        self.output_init = config.output_init
        self.output_init_std = config.init_std if config.output_init_std is None else config.output_init_std
        self.input_embedding = nn.Parameter(matrix(vocab_size, dim))

    def embed(self, ids: Tensor) -> Tensor:
        return self.lookup(self.input_embedding, ids)

    def own(self, whole: Tensor) -> Tensor:
        """What of a whole matrix (V, D) is in the place of `output_embedding`."""
        raise NotImplementedError

    @torch.no_grad()
    def initialize(self, draw: Draw) -> None:
        """A whole output embedding is drawn and its own part taken: an entry starts as it does in `untied`."""
        super().initialize(draw)
        self.start.fill(self.input_embedding, self.init_std, draw("input_embedding"))
        if self.output_init == "copy":
            self.output_embedding.copy_(self.own(self.input_embedding))
        elif self.output_init == "zero":
            self.output_embedding.zero_()
        else:
            whole = torch.empty_like(self.input_embedding)
            self.start.fill(whole, self.output_init_std, draw("output_embedding"))
            self.output_embedding.copy_(self.own(whole))


class Untied(OwnOutput):
    """The input and the output embedding are two parameters."""

    def __init__(self, config: OwnOutputConfig, vocab_size: int, dim: int) -> None:
        super().__init__(config, vocab_size, dim)
        self.output_embedding = nn.Parameter(matrix(vocab_size, dim))

    def own(self, whole: Tensor) -> Tensor:
        return whole

    def output_weight(self) -> Tensor:
        return self.output_embedding.view_as(self.output_embedding)
