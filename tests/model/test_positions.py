"""Positions against their formulas, and what follows from them."""

import math

import pytest
import torch
from torch import Tensor

from tiedlm.initialization import initialize
from tiedlm.model.config import LinearRopeScaling, Llama3RopeScaling
from tiedlm.model.positions import LearnedPositions, Rope, SinusoidalPositions, scale_frequencies


def zeros(seq_len: int, dim: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.zeros(1, seq_len, dim, dtype=dtype)


def test_a_learned_position_is_a_row_of_the_table() -> None:
    positions = LearnedPositions(8, 4, init_std=0.02)
    initialize(positions, seed=0)
    torch.testing.assert_close(positions(zeros(5, 4, torch.float32))[0], positions.weight[:5])


def test_more_positions_than_were_learned_are_refused() -> None:
    with pytest.raises(ValueError, match=r"9 .* 8"):
        LearnedPositions(8, 4, init_std=0.02)(zeros(9, 4))


def test_sinusoids_are_those_of_the_paper() -> None:
    dim, table = 6, SinusoidalPositions()(zeros(40, 6))[0]
    for position in (0, 1, 39):
        for pair in range(dim // 2):
            angle = position / 10_000 ** (2 * pair / dim)
            assert table[position, 2 * pair].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert table[position, 2 * pair + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)


def test_a_rotation_multiplies_pairs_as_complex_numbers() -> None:
    heads = torch.randn(2, 3, 7, 8, dtype=torch.float64)
    turned = Rope(8, theta=50.0)(zeros(7, 1)).turn(heads)
    for position in range(7):
        for pair in range(4):
            unit = complex(math.cos(position * 50 ** (-pair / 4)), math.sin(position * 50 ** (-pair / 4)))
            number = torch.complex(heads[..., position, pair], heads[..., position, pair + 4]) * unit
            torch.testing.assert_close(turned[..., position, pair], number.real)
            torch.testing.assert_close(turned[..., position, pair + 4], number.imag)


def test_a_turned_query_and_key_know_only_their_distance() -> None:
    query, key = torch.randn(2, 1, 1, 1, 8, dtype=torch.float64)
    rotation = Rope(8, theta=100.0)(zeros(20, 1))
    scores = rotation.turn(query.expand(-1, -1, 20, -1)) @ rotation.turn(key.expand(-1, -1, 20, -1)).mT  # (1, 1, T, T)
    for distance in (0, 3, 11):
        diagonal = scores[0, 0].diagonal(-distance)
        torch.testing.assert_close(diagonal, diagonal[0].expand_as(diagonal))


def test_linear_scaling_stretches_positions() -> None:
    plain, scaled = Rope(8, 100.0), Rope(8, 100.0, LinearRopeScaling(type="linear", factor=4.0))
    torch.testing.assert_close(scaled(zeros(40, 1)).cos[::4], plain(zeros(10, 1)).cos)


def test_llama3_scaling_is_the_published_rule() -> None:
    scaling = Llama3RopeScaling(
        type="llama3", factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_seq_len=8192
    )
    plain = [500_000 ** (-2 * pair / 64) for pair in range(32)]
    expected = []
    for frequency in plain:
        wavelength = 2 * math.pi / frequency
        if wavelength < 8192 / 4:
            expected.append(frequency)
        elif wavelength > 8192 / 1:
            expected.append(frequency / 32)
        else:
            smooth = (8192 / wavelength - 1) / (4 - 1)
            expected.append((1 - smooth) * frequency / 32 + smooth * frequency)
    assert expected[0] == plain[0] and expected[-1] == plain[-1] / 32
    assert any(mine not in (before, before / 32) for mine, before in zip(expected, plain, strict=True))
    result = scale_frequencies(torch.tensor(plain, dtype=torch.float64), scaling)
    torch.testing.assert_close(result, torch.tensor(expected, dtype=torch.float64))


def test_tables_stay_in_fp32_whatever_the_heads_are() -> None:
    """bf16 counts to 256 exactly and no farther: a table made in it would place position 4,001 at 4,000."""
    rotation = Rope(2, theta=1.0)(zeros(4002, 1, torch.bfloat16))
    assert rotation.cos.dtype is torch.float32
    assert rotation.cos[4001, 0].item() == pytest.approx(math.cos(4001), abs=1e-3)
    assert rotation.turn(torch.ones(1, 1, 4002, 2, dtype=torch.bfloat16)).dtype is torch.bfloat16
