"""The linear map of every layer."""

import torch
from torch import Tensor, nn

from tiedlm.initialization import Draw, normal_
from tiedlm.kernels.linear import linear


class Linear(nn.Module):
    """x W^T + b; the weight starts as N(0, init_std^2), the bias at zero."""

    def __init__(self, num_inputs: int, num_outputs: int, *, bias: bool, init_std: float) -> None:
        super().__init__()
        self.init_std = init_std
        self.weight = nn.Parameter(torch.empty(num_outputs, num_inputs))
        self.bias = nn.Parameter(torch.empty(num_outputs)) if bias else None

    def forward(self, hidden: Tensor) -> Tensor:
        """hidden (..., I) -> (..., O)."""
        return linear(hidden, self.weight, self.bias)

    def initialize(self, draw: Draw) -> None:
        normal_(self.weight, self.init_std, draw("weight"))
        if self.bias is not None:
            nn.init.zeros_(self.bias)
