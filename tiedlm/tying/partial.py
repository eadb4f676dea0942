"""Matrices that share some of their rows or some of their columns."""

import torch
from torch import Tensor, nn

from tiedlm.initialization import Draw
from tiedlm.tying.base import matrix
from tiedlm.tying.config import PartialDimensionsConfig, PartialVocabularyConfig
from tiedlm.tying.untied import SeparateOutput


class PartialVocabulary(SeparateOutput):
    """Some tokens have one row, the others (`own_ids`) two.

    Without `token_frequencies` (V,) tokens are taken to be ordered by frequency: enough where only sizes are asked.
    """

    own_ids: Tensor

    def __init__(
        self, config: PartialVocabularyConfig, vocab_size: int, dim: int, token_frequencies: Tensor | None
    ) -> None:
        super().__init__(config, vocab_size, dim)
        self.chosen = _tokens_with_two_rows(config, vocab_size, token_frequencies)
        self.register_buffer("own_ids", torch.empty(self.chosen.shape, dtype=torch.long))
        self.output_embedding = nn.Parameter(matrix(len(self.chosen), dim))

    def unshared(self, embedding: Tensor) -> Tensor:
        return embedding[self.own_ids]

    def output_weight(self) -> Tensor:
        return self.input_embedding.index_copy(0, self.own_ids, self.output_embedding)

    def num_input_only(self) -> int:
        return self.output_embedding.numel()

    def initialize(self, draw: Draw) -> None:
        self.own_ids.copy_(self.chosen)
        super().initialize(draw)


def _tokens_with_two_rows(config: PartialVocabularyConfig, vocab_size: int, token_frequencies: Tensor | None) -> Tensor:
    """Ids in ascending order; of equally frequent tokens those with smaller ids count as more frequent."""
    by_id = torch.arange(vocab_size, device="cpu")
    ranked = by_id if token_frequencies is None else token_frequencies.cpu().argsort(descending=True, stable=True)
    num_shared = config.num_shared(vocab_size)
    others = ranked[num_shared:] if config.share == "frequent" else ranked[: vocab_size - num_shared]
    return others.sort().values


class PartialDimensions(SeparateOutput):
    """The first columns of both matrices are one, the others are two."""

    def __init__(self, config: PartialDimensionsConfig, vocab_size: int, dim: int) -> None:
        super().__init__(config, vocab_size, dim)
        self.num_shared = config.num_shared(dim)
        self.output_embedding = nn.Parameter(matrix(vocab_size, dim - self.num_shared))

    def unshared(self, embedding: Tensor) -> Tensor:
        return embedding[:, self.num_shared :]

    def output_weight(self) -> Tensor:
        return torch.cat([self.input_embedding[:, : self.num_shared], self.output_embedding], 1)

    def num_input_only(self) -> int:
        return self.output_embedding.numel()
