"""How a position enters the model: a learned vector, a fixed wave, or a rotation of queries and keys.

What has no parameters is computed on the fly, in fp32 or better, so that nothing but parameters need survive a move
from the meta device.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tiedlm.initialization import Draw, normal_
from tiedlm.model.config import LinearRopeScaling, Llama3RopeScaling, RopeScaling


class LearnedPositions(nn.Module):
    """A vector per position, added to the token's."""

    def __init__(self, max_seq_len: int, dim: int, init_std: float) -> None:
        super().__init__()
        self.init_std = init_std
        self.weight = nn.Parameter(torch.empty(max_seq_len, dim))

    def forward(self, hidden: Tensor) -> Tensor:
        """hidden (B, T, D) -> (B, T, D); ValueError where T is more than there are positions."""
        seq_len, max_seq_len = hidden.shape[1], self.weight.shape[0]
        if seq_len > max_seq_len:
            raise ValueError(f"{seq_len} positions asked of a model with learned ones for {max_seq_len}")
        return hidden + self.weight[:seq_len]

    def initialize(self, draw: Draw) -> None:
        normal_(self.weight, self.init_std, draw("weight"))


class SinusoidalPositions(nn.Module):
    """sin and cos of the position at D/2 wavelengths from 2 pi to 10,000 * 2 pi, added (Vaswani et al. 2017, 3.5).

    Entries are near 1 in size: `tying.input_scale: sqrt_dim` brings the token's vector near that.
    """

    def forward(self, hidden: Tensor) -> Tensor:
        """hidden (B, T, D) -> (B, T, D)."""
        angles = _angles(hidden, _inverse_frequencies(hidden, hidden.shape[-1], 10_000.0))  # (T, D / 2)
        return hidden + torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


class Rope(nn.Module):
    """Rotary positions (Su et al. 2021): each pair of a head's entries turns at a frequency of its own.

    A pair is an entry of the head's first half and the same entry of its second.
    """

    def __init__(self, head_dim: int, theta: float, scaling: RopeScaling | None = None) -> None:
        super().__init__()
        self.head_dim, self.theta, self.scaling = head_dim, theta, scaling

    def forward(self, hidden: Tensor) -> "Rotation":
        """The rotation of the positions of `hidden` (B, T, D), the same for every layer and head."""
        inverse = scale_frequencies(_inverse_frequencies(hidden, self.head_dim, self.theta), self.scaling)  # (A / 2,)
        angles = _angles(hidden, inverse)  # (T, A / 2)
        return Rotation(angles.cos(), angles.sin())


@dataclass(frozen=True)
class Rotation:
    """Cosine and sine of every position's angles, (T, A / 2) each, in fp32 or better."""

    cos: Tensor
    sin: Tensor

    def turn(self, heads: Tensor) -> Tensor:
        """heads (B, H, T, A) turned by their positions, in the tables' precision and returned in that of `heads`."""
        first, second = heads.chunk(2, dim=-1)  # (B, H, T, A / 2) each
        turned = torch.cat([first * self.cos - second * self.sin, second * self.cos + first * self.sin], dim=-1)
        return turned.to(heads.dtype)


def scale_frequencies(inverse: Tensor, scaling: RopeScaling | None) -> Tensor:
    """Frequencies in radians a position, (A / 2,), slowed so that a model reads farther than it was trained on.

    linear: Chen et al. 2023. llama3: Llama 3.1's rule; a wave that fits at most `low_freq_factor` times into the
    original context is slowed by `factor`, one that fits `high_freq_factor` times is kept, and between the two the
    number of fits says how much of either.
    """
    match scaling:
        case None:
            return inverse
        case LinearRopeScaling(factor=factor):
            return inverse / factor
        case Llama3RopeScaling(factor=factor, low_freq_factor=low, high_freq_factor=high):
            fits = scaling.original_max_seq_len * inverse / (2 * math.pi)
            kept = ((fits - low) / (high - low)).clamp(0, 1)
            return kept * inverse + (1 - kept) * inverse / factor


def _inverse_frequencies(hidden: Tensor, dim: int, theta: float) -> Tensor:
    """theta^(-2 i / dim) for i < dim / 2, on the device of `hidden` and in fp32 or better."""
    dtype = torch.promote_types(hidden.dtype, torch.float32)
    exponents = torch.arange(0, dim, 2, device=hidden.device, dtype=dtype) / dim
    return torch.pow(theta, -exponents)


def _angles(hidden: Tensor, inverse: Tensor) -> Tensor:
    """Position times frequency: (T, len(inverse))."""
    positions = torch.arange(hidden.shape[1], device=hidden.device, dtype=inverse.dtype)
    return positions[:, None] * inverse
