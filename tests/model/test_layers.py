"""Each part of a decoder layer against its formula."""

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tiedlm.initialization import initialize
from tiedlm.kernels.attention import short_attention
from tiedlm.model.layers import ACTIVATIONS, MLP, Attention, GatedMLP, LayerNorm, RMSNorm, causal_attention
from tiedlm.model.positions import Rope


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def attention(**changes: float) -> Attention:
    layer = Attention(
        12, 6, 2, 4, bias=True, qkv_bias=True, dropout=changes.get("dropout", 0.0), init_std=0.2, output_std=0.1
    )
    initialize(layer, seed=0)
    return layer.double()


def test_norms_start_as_the_bare_norm() -> None:
    for norm in (LayerNorm(5, eps=1e-5, bias=True), RMSNorm(5, eps=1e-5)):
        initialize(norm, seed=0)
        assert (norm.weight == 1).all()
    assert not LayerNorm(5, eps=1e-5, bias=False).bias


def test_layer_norm_is_its_formula() -> None:
    norm = LayerNorm(7, eps=0.01, bias=True).double()
    gain, offset, hidden = normal(7, seed=1), normal(7, seed=2), normal(2, 3, 7)
    assert norm.bias is not None
    norm.load_state_dict({"weight": gain, "bias": offset})
    centred = hidden - hidden.mean(-1, keepdim=True)
    expected = centred / (centred.square().mean(-1, keepdim=True) + 0.01).sqrt() * gain + offset
    torch.testing.assert_close(norm(hidden), expected)


def test_rms_norm_is_its_formula() -> None:
    norm = RMSNorm(7, eps=0.01).double()
    gain, hidden = normal(7, seed=1), normal(2, 3, 7)
    norm.load_state_dict({"weight": gain})
    torch.testing.assert_close(norm(hidden), hidden / (hidden.square().mean(-1, keepdim=True) + 0.01).sqrt() * gain)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("gelu", lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2),
        ("gelu_tanh", lambda x: x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2),
        ("relu", lambda x: max(x, 0.0)),
        ("relu_squared", lambda x: max(x, 0.0) ** 2),
        ("silu", lambda x: x / (1 + math.exp(-x))),
    ],
)
def test_activations_are_their_formulas(name: str, formula: Callable[[float], float]) -> None:
    points = [-3.0, -0.5, 0.0, 0.5, 3.0]
    expected = torch.tensor([formula(x) for x in points], dtype=torch.float64)
    torch.testing.assert_close(ACTIVATIONS[name](torch.tensor(points, dtype=torch.float64)), expected)


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


def test_attention_sees_positions_only_through_the_rotation() -> None:
    """Without it, what the last position reads is a set: the order of the earlier ones does not matter."""
    layer, hidden = attention(), normal(1, 5, 12)
    shuffled = hidden[:, [2, 0, 3, 1, 4]]
    torch.testing.assert_close(layer(shuffled)[:, -1], layer(hidden)[:, -1])
    rotation = Rope(4, theta=100.0)(hidden)
    assert (layer(shuffled, rotation)[:, -1] - layer(hidden, rotation)[:, -1]).abs().max() > 1e-4


def test_attention_weights_are_dropped_in_training_only() -> None:
    plain, dropping, hidden = attention(), attention(dropout=0.5), normal(1, 5, 12)
    torch.testing.assert_close(dropping.eval()(hidden), plain(hidden))
    assert not torch.allclose(dropping.train()(hidden), plain(hidden))
    torch.manual_seed(0)
    # the first position attends to itself alone: twice its values from the heads that keep it, nothing from the others
    first = torch.stack([dropping(hidden)[0, 0] for _ in range(300)])
    num_kept = (first != 0).any(-1).sum().item()
    assert num_kept == pytest.approx(300 * (1 - 0.5**6), abs=10)  # 4.7 are expected to lose all six heads
    torch.testing.assert_close(first.mean(0), plain(hidden)[0, 0], rtol=0, atol=0.1)


def test_the_mlp_is_its_formula() -> None:
    layer = MLP(4, 6, torch.tanh, bias=True, init_std=0.5, output_std=0.5)
    initialize(layer, seed=0)
    layer.double()
    hidden = normal(2, 3, 4)
    up, down = layer.up, layer.down
    assert up.bias is not None and down.bias is not None
    torch.testing.assert_close(layer(hidden), (hidden @ up.weight.T + up.bias).tanh() @ down.weight.T + down.bias)


def test_the_gated_mlp_is_its_formula() -> None:
    layer = GatedMLP(4, 6, torch.tanh, bias=False, init_std=0.5, output_std=0.5)
    initialize(layer, seed=0)
    layer.double()
    hidden = normal(2, 3, 4)
    gate, up = layer.gate_up.weight[:6], layer.gate_up.weight[6:]
    expected = ((hidden @ gate.T).tanh() * (hidden @ up.T)) @ layer.down.weight.T
    torch.testing.assert_close(layer(hidden), expected)


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

    fused = partial(F.scaled_dot_product_attention, is_causal=True)
    right = found(fused, torch.float64)
    ours, torchs = found(short_attention, torch.bfloat16), found(fused, torch.bfloat16)
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

    monkeypatch.setattr("tiedlm.model.layers.short_attention", counted)
    for length, dtype in ((512, torch.bfloat16), (513, torch.bfloat16), (16, torch.float32)):
        part = torch.randn(1, 2, length, 8, dtype=dtype, requires_grad=True)
        causal_attention(part, part, part)
    with torch.no_grad():  # the function must not hang on whether it is trained
        causal_attention(part.bfloat16(), part.bfloat16(), part.bfloat16())
    assert calls == [512, 16]
