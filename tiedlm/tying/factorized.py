"""A table of another width than the model's, with a map on each side (Lan et al. 2020)."""

import torch.nn.functional as F
from torch import Tensor, nn

from tiedlm.initialization import Draw, normal_
from tiedlm.tying.base import Tying, matrix
from tiedlm.tying.config import FactorizedConfig


class Factorized(Tying):
    """Vectors of width E, mapped to D on the way in; hidden states mapped back to E on the way out.

    Entries of the maps start with the variance 1/E: vectors and scores then have the scale that they have in `tied`.
    """

    def __init__(self, config: FactorizedConfig, vocab_size: int, dim: int) -> None:
        super().__init__(config, vocab_size, dim)
        self.width = config.width
        two_tables, two_maps = config.share == "nothing", config.share != "table_and_map"
        self.input_table = nn.Parameter(matrix(vocab_size, self.width))
        self.input_map = nn.Parameter(matrix(dim, self.width))
        self.output_table = nn.Parameter(matrix(vocab_size, self.width)) if two_tables else None
        self.output_map = nn.Parameter(matrix(self.width, dim)) if two_maps else None

    def embed(self, ids: Tensor) -> Tensor:
        narrow = self.lookup(self.input_table, ids)  # (B, T, E)
        return F.linear(narrow, self.input_map).to(narrow.dtype)  # which autocast would leave in 16 bits

    def output_weight(self) -> Tensor:
        table = self.input_table if self.output_table is None else self.output_table
        return table.view_as(table)

    def input_weight(self) -> Tensor:
        return F.linear(self.input_table, self.input_map).detach()

    def project(self, hidden: Tensor) -> Tensor:
        return F.linear(hidden, self.input_map.t() if self.output_map is None else self.output_map)

    def forward_flops_per_token(self) -> int:
        return 2 * 2 * self.input_map.numel()  # in and out, by one map or by two of its size

    def initialize(self, draw: Draw) -> None:
        super().initialize(draw)
        for name, parameter in self.named_parameters():
            if name.endswith("_table"):
                self.table_init.fill(parameter, self.init_std, draw(name))
            elif name.endswith("_map"):
                normal_(parameter, self.width**-0.5, draw(name))
