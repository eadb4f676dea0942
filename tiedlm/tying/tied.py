"""One matrix for both (Press & Wolf 2017; Inan et al. 2017)."""

from torch import Tensor, nn

from tiedlm.initialization import Draw
from tiedlm.kernels.lookup import table_view
from tiedlm.tying.base import Tying, matrix
from tiedlm.tying.config import EmbeddingConfig


class Tied(Tying):
    """The input embedding is the output embedding."""

    def __init__(self, config: EmbeddingConfig, vocab_size: int, dim: int) -> None:
        super().__init__(config, vocab_size, dim)
        self.input_embedding = nn.Parameter(matrix(vocab_size, dim))

    def embed(self, ids: Tensor) -> Tensor:
        return self.lookup(self.input_embedding, ids)

    def output_weight(self) -> Tensor:
        return table_view(self.input_embedding)

    def input_weight(self) -> Tensor:
        return self.input_embedding.detach()

    def initialize(self, draw: Draw) -> None:
        super().initialize(draw)
        self.table_init.fill(self.input_embedding, self.init_std, draw("input_embedding"))
