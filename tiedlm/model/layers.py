"""The parts of a decoder layer. Constructors allocate without values; `initialize` gives them.

Shapes: B batch, T positions, D width, H query heads, K key and value heads, A width of a head, F inner width of the
feed-forward part. Weights of linear maps are (out, in).
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tiedlm.initialization import Draw
from tiedlm.kernels.attention import causal_attention
from tiedlm.kernels.linear import recomputable
from tiedlm.model.linear import Linear
from tiedlm.model.positions import Rotation

Activation = Callable[[Tensor], Tensor]


def relu_squared(hidden: Tensor) -> Tensor:
    """max(0, x)^2 (So et al. 2021)."""
    return F.relu(hidden).square()


ACTIVATIONS: dict[str, Activation] = {
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
    "relu_squared": relu_squared,
    "silu": F.silu,
}


class LayerNorm(nn.Module):
    """Mean 0, variance 1 over the width, then a gain per entry and perhaps a bias (Ba et al. 2016)."""

    def __init__(self, dim: int, *, eps: float, bias: bool) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(dim))
        self.bias = nn.Parameter(torch.empty(dim)) if bias else None

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        shape, weight, bias, eps = self.weight.shape, self.weight, self.bias, self.eps
        return recomputable(lambda source: F.layer_norm(source, shape, weight, bias, eps), hidden)

    def initialize(self, draw: Draw) -> None:
        nn.init.ones_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class RMSNorm(nn.Module):
    """Mean square 1 over the width, then a gain per entry (Zhang & Sennrich 2019)."""

    def __init__(self, dim: int, *, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(dim))

    def forward(self, hidden: Tensor) -> Tensor:
        """(..., D) -> (..., D)."""
        shape, weight, eps = self.weight.shape, self.weight, self.eps
        return recomputable(lambda source: F.rms_norm(source, shape, weight, eps), hidden)

    def initialize(self, draw: Draw) -> None:
        nn.init.ones_(self.weight)


class Attention(nn.Module):
    """Causal self-attention with one matrix for queries, keys and values, in that order of rows."""

    def __init__(
        self,
        dim: int,
        num_heads: int,
        num_kv_heads: int,
        head_dim: int,
        *,
        bias: bool,
        qkv_bias: bool,
        dropout: float,
        init_std: float,
        output_std: float,
    ) -> None:
        super().__init__()
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, head_dim
        self.dropout = dropout
        self.qkv = Linear(dim, (num_heads + 2 * num_kv_heads) * head_dim, bias=qkv_bias, init_std=init_std)
        self.output = Linear(num_heads * head_dim, dim, bias=bias, init_std=output_std)

    def forward(self, hidden: Tensor, rotation: Rotation | None = None) -> Tensor:
        """hidden (B, T, D) -> (B, T, D); `rotation` turns queries and keys by their positions."""
        qkv = self.qkv(hidden).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)  # (B, H + 2K, T, A)
        query, key, value = qkv.split([self.num_heads, self.num_kv_heads, self.num_kv_heads], dim=1)
        if rotation is not None:
            query, key = rotation.turn(query), rotation.turn(key)
        mixed = causal_attention(query, key, value, self.dropout if self.training else 0.0)  # (B, H, T, A)
        result: Tensor = self.output(mixed.transpose(1, 2).flatten(2))  # (B, T, H A) -> (B, T, D)
        return result


class MLP(nn.Module):
    """down(activation(up(x)))."""

    def __init__(
        self, dim: int, inner_dim: int, activation: Activation, *, bias: bool, init_std: float, output_std: float
    ) -> None:
        super().__init__()
        self.activation = partial(recomputable, activation)
        self.up = Linear(dim, inner_dim, bias=bias, init_std=init_std)
        self.down = Linear(inner_dim, dim, bias=bias, init_std=output_std)

    def forward(self, hidden: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        result: Tensor = self.down(self.activation(self.up(hidden)))  # (B, T, F) between the two maps
        return result


class GatedMLP(nn.Module):
    """down(activation(gate(x)) * up(x)), SwiGLU where the activation is silu (Shazeer 2020).

    gate and up are one matrix, in that order of rows.
    """

    def __init__(
        self, dim: int, inner_dim: int, activation: Activation, *, bias: bool, init_std: float, output_std: float
    ) -> None:
        super().__init__()
        self.gated_activation = partial(recomputable, partial(gated, activation))
        self.gate_up = Linear(dim, 2 * inner_dim, bias=bias, init_std=init_std)
        self.down = Linear(inner_dim, dim, bias=bias, init_std=output_std)

    def forward(self, hidden: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        result: Tensor = self.down(self.gated_activation(self.gate_up(hidden)))  # (B, T, 2 F), then (B, T, F)
        return result


def gated(activation: Activation, gate_up: Tensor) -> Tensor:
    """gate and up side by side (B, T, 2 F) -> activation(gate) * up (B, T, F)."""
    gate, up = gate_up.chunk(2, dim=-1)
    return activation(gate) * up
