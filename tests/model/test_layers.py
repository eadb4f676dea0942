"""Each part of a decoder layer against its formula."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tiedlm.initialization import initialize
from tiedlm.model.layers import ACTIVATIONS, MLP, Attention, GatedMLP, LayerNorm, RMSNorm
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
