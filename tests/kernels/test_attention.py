"""Causal attention against its formula, and the kernel for short windows against torch's own in float64."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tiedlm.kernels.attention import causal_attention, plain_attention, short_attention


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("num_kv_heads", [1, 2, 6])
def test_attention_averages_values_over_the_past_by_softmax(num_kv_heads: int) -> None:
    query, key, value = (normal(2, heads, 5, 4, seed=heads + 1) for heads in (6, num_kv_heads, num_kv_heads))
    result = causal_attention(query, key, value)
    for head in range(6):
        shared = head // (6 // num_kv_heads)
        for position in range(5):
            past = slice(position + 1)
            scores = query[:, head, position, None] @ key[:, shared, past].mT / 2  # sqrt of a head's width 4
            expected = (scores.softmax(-1) @ value[:, shared, past])[:, 0]
            torch.testing.assert_close(result[:, head, position], expected)


@pytest.mark.parametrize("length", [1, 2, 37, 256, 257, 512])
def test_short_attention_in_bf16_is_as_near_to_float64_as_torchs_own(length: int) -> None:
    generator = torch.Generator().manual_seed(length)
    shape = (3, 2, 4, length, 16)
    parts = (2 * torch.randn(shape, generator=generator)).bfloat16()
    above = torch.randn(shape[1:], generator=generator).bfloat16()

    def found(attend: Callable[..., Tensor], dtype: torch.dtype) -> list[Tensor]:
        leaves = [part.to(dtype).requires_grad_() for part in parts]
        mixed = attend(*leaves)
        return [mixed.detach().double(), *(g.double() for g in torch.autograd.grad(mixed, leaves, above.to(dtype)))]

    right = found(plain_attention, torch.float64)
    ours, torchs = found(short_attention, torch.bfloat16), found(plain_attention, torch.bfloat16)
    for exact, mine, theirs in zip(right, ours, torchs, strict=True):
        rounding = 2**-8 * exact.norm()
        assert (mine - exact).norm() <= 1.5 * (theirs - exact).norm() + rounding


def test_short_attention_gives_each_head_its_own_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two heads at a time and the last alone, in blocks of rows of which the last is short: as all at once."""
    parts, above = (2 * normal(3, 1, 5, 37, 16)).bfloat16(), normal(1, 5, 37, 16, seed=1).bfloat16()

    def gradients() -> tuple[Tensor, ...]:
        leaves = [part.clone().requires_grad_() for part in parts]
        return torch.autograd.grad(short_attention(*leaves), leaves, above)

    whole = gradients()
    monkeypatch.setattr("tiedlm.kernels.attention._ENTRIES", 2 * 37 * 37)
    assert all(torch.equal(one, other) for one, other in zip(gradients(), whole, strict=True))
    monkeypatch.setattr("tiedlm.kernels.attention._ROWS", 16)
    for one, other in zip(gradients(), whole, strict=True):
        assert (one - other).norm() <= 2**-7 * other.norm()


def test_autocast_changes_no_bit_of_short_attention() -> None:
    """It is how a run trains, and takes a product of fp32 matrices in bf16 unless it is kept from that."""
    parts = (2 * normal(3, 2, 4, 37, 16)).bfloat16()
    plain = short_attention(*parts)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(short_attention(*parts), plain)


def test_short_attention_leaves_what_it_is_given_as_it_is_and_nothing_is_nothing() -> None:
    parts = 2 * normal(3, 1, 2, 37, 8).float()
    before = parts.clone()
    short_attention(*parts)
    assert torch.equal(parts, before)
    for shape in ((0, 2, 5, 8), (1, 0, 5, 8), (1, 2, 0, 8)):
        assert causal_attention(*torch.zeros(3, *shape, dtype=torch.bfloat16)).shape == shape


def test_short_attention_is_what_a_short_window_trains_with_in_bf16(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(*parts: Tensor) -> Tensor:
        calls.append(parts[0].shape[2])
        return short_attention(*parts)

    monkeypatch.setattr("tiedlm.kernels.attention.short_attention", counted)
    for length, dtype in ((512, torch.bfloat16), (513, torch.bfloat16), (16, torch.float32)):
        part = torch.randn(1, 2, length, 8, dtype=dtype, requires_grad=True)
        causal_attention(part, part, part)
    with torch.no_grad():  # the function must not hang on whether it is trained
        causal_attention(part.bfloat16(), part.bfloat16(), part.bfloat16())
    assert calls == [512, 16]
