"""Two matrices that are drawn towards each other."""

import torch
from torch import Tensor

from tiedlm.tying.config import Norm, SoftConfig
from tiedlm.tying.untied import Untied


def distance(one: Tensor, other: Tensor, norm: Norm) -> Tensor:
    """The Frobenius norm of a difference, or the mean of its squared entries: ()."""
    length: Tensor = torch.linalg.vector_norm(
        one - other
    )  # which keeps one matrix for the way back, where a mean of squares keeps two
    return length if norm == "fro" else length.square() / one.numel()


class Soft(Untied):
    """The input and the output embedding are two parameters, and their distance costs."""

    def __init__(self, config: SoftConfig, vocab_size: int, dim: int) -> None:
        super().__init__(config, vocab_size, dim)
        self.strength, self.norm = config.strength, config.norm

    def penalty(self) -> Tensor:
        return self.strength * distance(self.input_embedding, self.output_embedding, self.norm)
