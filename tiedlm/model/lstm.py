"""The recurrent body: layers of long short-term memory (Hochreiter & Schmidhuber 1997, with forget gates).

Shapes: B batch, T positions, D width of what goes in and comes out, I and H widths of one layer's inputs and outputs.
The rows of each matrix are those of the input gate, the forget gate, the candidate and the output gate, H of each.
"""

import warnings
from collections.abc import Iterator
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tiedlm.initialization import Draw, normal_
from tiedlm.model.config import LstmConfig
from tiedlm.model.state import State

# Each parameter is stored once, by itself, and so cuDNN puts a copy of them together at each call, and says so.
warnings.filterwarnings("ignore", message="RNN module weights are not part of single contiguous chunk")


class LstmLayer(nn.Module):
    """One layer, by torch's kernel. Weights start as N(0, init_std^2), biases at zero.

    With `double_bias` each gate adds two trained vectors, as torch and cuDNN have it, which are worth one.
    """

    def __init__(self, num_inputs: int, num_outputs: int, *, double_bias: bool, init_std: float) -> None:
        super().__init__()
        self.init_std = init_std
        self.input_weight = nn.Parameter(torch.empty(4 * num_outputs, num_inputs))
        self.recurrent_weight = nn.Parameter(torch.empty(4 * num_outputs, num_outputs))
        self.bias = nn.Parameter(torch.empty(4 * num_outputs))
        self.recurrent_bias = nn.Parameter(torch.empty(4 * num_outputs)) if double_bias else None

    @property
    def num_outputs(self) -> int:
        """H."""
        return self.recurrent_weight.shape[1]

    def forward(self, inputs: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """inputs (B, T, I), hidden and cell before them (B, H) -> outputs (B, T, H), hidden and cell after them."""
        wide = self.input_weight.dtype  # autocast gives 16 bits, and torch compares types before it casts
        second = torch.zeros_like(self.bias) if self.recurrent_bias is None else self.recurrent_bias
        weights = [self.input_weight, self.recurrent_weight, self.bias, second]
        before = hidden.to(wide).unsqueeze(0), cell.to(wide).unsqueeze(0)
        train = torch.is_grad_enabled()  # cuDNN keeps what the backward pass needs
        outputs, hidden, cell = torch.lstm(inputs.to(wide), before, weights, True, 1, 0.0, train, False, True)
        return outputs, hidden.squeeze(0), cell.squeeze(0)

    def initialize(self, draw: Draw) -> None:
        normal_(self.input_weight, self.init_std, draw("input_weight"))
        normal_(self.recurrent_weight, self.init_std, draw("recurrent_weight"))
        for bias in (self.bias, self.recurrent_bias):
            if bias is not None:
                nn.init.zeros_(bias)


class VariationalDropout(nn.Module):
    """Dropout with one mask for all positions of a window (Gal & Ghahramani 2016)."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, hidden: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        kept = torch.ones_like(hidden[:, :1])  # (B, 1, D)
        return hidden * F.dropout(kept, self.probability, self.training)


class Lstm(nn.Module):
    """Layers in a row. Dropout is on what enters a layer and on what leaves the last, never on the state."""

    def __init__(self, config: LstmConfig) -> None:
        super().__init__()
        widths = [config.dim, *[config.hidden_dim] * (config.num_layers - 1), config.dim]
        double, std = config.recurrent_bias == "double", config.init_std
        layers = [LstmLayer(*inout, double_bias=double, init_std=std) for inout in pairwise(widths)]
        self.layers = nn.ModuleList(layers)
        self.widths = [layer.num_outputs for layer in layers]
        self.dropout = VariationalDropout(config.dropout) if config.variational_dropout else nn.Dropout(config.dropout)

    def forward(self, hidden: Tensor, state: State | None = None) -> Tensor:
        """hidden (B, T, D) -> (B, T, D), from `state` on, which becomes the one after the last position.

        A state's row is the hidden vectors and cells of all layers, side by side: h, c of the first, then the others.
        """
        before = self._before(hidden, state)  # (B, H) each
        after: list[Tensor] = []
        dtype = hidden.dtype
        for layer in self.layers:
            hidden, *last = layer(self.dropout(hidden), next(before), next(before))
            after += last
        if state is not None:
            state.value = torch.cat(after, dim=1).detach()
        result: Tensor = self.dropout(hidden)
        return result.to(dtype)

    def _before(self, hidden: Tensor, state: State | None) -> Iterator[Tensor]:
        sizes = [width for width in self.widths for _ in ("hidden", "cell")]
        value = None if state is None else state.value
        if value is None:
            value = hidden.new_zeros(len(hidden), sum(sizes))
        return iter(value.split(sizes, dim=1))

    def forward_flops_per_token(self, seq_len: int) -> int:
        """Two for each entry of the layers' matrices, however long the window: gates and cells are not counted."""
        layers = (module for module in self.modules() if isinstance(module, LstmLayer))
        return 2 * sum(layer.input_weight.numel() + layer.recurrent_weight.numel() for layer in layers)
