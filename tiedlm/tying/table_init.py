"""The starting values of a table."""

import torch
from torch import Tensor

from tiedlm.initialization import normal_
from tiedlm.tying.config import Init


class TableInit:
    """How a table (V, E) is filled; `token_frequencies` (V,) are needed for by_frequency (without
    them all tokens count as equally frequent).

    normal: N(0, std^2). xavier_uniform: uniform within sqrt(6 / (V + E)) of 0, whatever `std` (Glorot & Bengio 2010).
    by_frequency: row v is N(0, std^2 / (1 + V p_v)) with p_v the token's share of the train split.
    """

    def __init__(self, init: Init, token_frequencies: Tensor | None = None) -> None:
        self.init = init
        self.token_frequencies = token_frequencies

    @torch.no_grad()
    def fill(self, table: Tensor, std: float, generator: torch.Generator) -> None:
        """Drawn on the CPU, as every starting value is."""
        if self.init == "xavier_uniform":
            bound = (6 / sum(table.shape)) ** 0.5
            table.copy_(torch.empty(table.shape, device="cpu").uniform_(-bound, bound, generator=generator))
            return
        normal_(table, std, generator)
        if self.init == "by_frequency":
            table.mul_(self._row_scales(len(table)).to(table).unsqueeze(1))

    def _row_scales(self, vocab_size: int) -> Tensor:
        counts = torch.ones(vocab_size, device="cpu") if self.token_frequencies is None else self.token_frequencies
        counts = counts.double()
        return (1 + vocab_size * counts / counts.sum()).rsqrt()  # (V,)
