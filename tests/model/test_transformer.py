"""The decoder against a plain composition of the same weights, written out from the papers."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from tiedlm.model.config import TransformerConfig
from tiedlm.model.language_model import LanguageModel, build_model
from tiedlm.model.layers import Attention
from tiedlm.model.parameters import flops_per_token
from tiedlm.model.transformer import Layer

V, T = 23, 11
SHAPE: dict[str, Any] = {"num_layers": 2, "dim": 12, "num_heads": 6}
LLAMA3 = {"type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_seq_len": 16}
LLAMA: dict[str, Any] = {"norm": "rmsnorm", "positions": "rope", "feed_forward": "swiglu", "bias": False}
DECODERS: dict[str, dict[str, Any]] = {
    "gpt2": {"activation": "gelu_tanh"},
    "llama": LLAMA
    | {"rope_theta": 50.0, "rope_scaling": LLAMA3}
    | {"num_kv_heads": 2, "head_dim": 4, "feed_forward_dim": 20},
    "qwen": LLAMA
    | {"qkv_bias": True, "num_kv_heads": 3, "activation": "gelu"}
    | {"rope_scaling": {"type": "linear", "factor": 3.0}, "tying": {"type": "untied"}},
    "sinusoidal": {"positions": "sinusoidal", "activation": "relu"}
    | {"tying": {"type": "tied", "input_scale": "sqrt_dim", "output_bias": True}},
    "none": {"positions": "none", "activation": "relu_squared"}
    | {"num_kv_heads": 1, "qkv_bias": False, "norm_eps": 0.1},
}


def build(name: str, **changes: Any) -> tuple[TransformerConfig, LanguageModel]:
    """A float64 model with every parameter away from its start, so that no gain of 1 or bias of 0 hides a fault."""
    config = TransformerConfig.model_validate({**SHAPE, **DECODERS[name], **changes})
    model = build_model(config, V, T).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.3, generator=generator)
    return config, model


class PlainDecoder:
    """The same function with no library's attention, norm or rotation: loops, softmax and masks in the open."""

    def __init__(self, config: TransformerConfig, weights: dict[str, Tensor]) -> None:
        self.config, self.weights = config, weights

    def logits(self, ids: Tensor) -> Tensor:
        config, weights = self.config, self.weights
        scale = config.dim**0.5 if config.tying.input_scale == "sqrt_dim" else config.tying.input_scale
        stream = weights["tying.input_embedding"][ids] * scale
        if config.positions == "learned":
            stream = stream + weights["positions.weight"][: ids.shape[1]]
        if config.positions == "sinusoidal":
            stream = stream + self._sinusoids(ids.shape[1])
        for index in range(config.num_layers):
            name = f"body.layers.{index}"
            stream = stream + self._attention(self._norm(stream, f"{name}.attention_norm"), f"{name}.attention")
            stream = stream + self._feed_forward(
                self._norm(stream, f"{name}.feed_forward_norm"), f"{name}.feed_forward"
            )
        output = weights.get("tying.output_embedding", weights["tying.input_embedding"])
        return self._norm(stream, "final_norm") @ output.T + weights.get("tying.bias", 0)

    def _linear(self, x: Tensor, name: str) -> Tensor:
        return x @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", 0)

    def _norm(self, x: Tensor, name: str) -> Tensor:
        centred = x - x.mean(-1, keepdim=True) if self.config.norm == "layernorm" else x
        size = (centred.pow(2).sum(-1, keepdim=True) / x.shape[-1] + self.config.norm_eps).sqrt()
        return centred / size * self.weights[f"{name}.weight"] + self.weights.get(f"{name}.bias", 0)

    def _attention(self, x: Tensor, name: str) -> Tensor:
        width, heads, kv_heads = self.config.head_dim, self.config.num_heads, self.config.num_kv_heads
        columns = self._linear(x, f"{name}.qkv").split(width, dim=-1)
        queries, keys, values = columns[:heads], columns[heads : heads + kv_heads], columns[heads + kv_heads :]
        future = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        mixed = []
        for head, query in enumerate(queries):
            key, value = (kind[head * kv_heads // heads] for kind in (keys, values))
            if self.config.positions == "rope":
                query, key = self._turn(query), self._turn(key)
            scores = (query @ key.transpose(1, 2) / math.sqrt(width)).masked_fill(future, -math.inf)
            exponentials = (scores - scores.amax(-1, keepdim=True)).exp()
            mixed.append(exponentials / exponentials.sum(-1, keepdim=True) @ value)
        return self._linear(torch.cat(mixed, -1), f"{name}.output")

    def _feed_forward(self, x: Tensor, name: str) -> Tensor:
        if self.config.feed_forward == "mlp":
            return self._linear(self._activation(self._linear(x, f"{name}.up")), f"{name}.down")
        both = self._linear(x, f"{name}.gate_up")
        inner = self.config.feed_forward_dim
        return self._linear(self._activation(both[..., :inner]) * both[..., inner:], f"{name}.down")

    def _activation(self, x: Tensor) -> Tensor:
        match self.config.activation:
            case "gelu":
                return x * (1 + torch.erf(x / math.sqrt(2))) / 2
            case "gelu_tanh":
                return x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
            case "silu":
                return x / (1 + torch.exp(-x))
            case "relu":
                return x * (x > 0)
            case "relu_squared":
                return x * x * (x > 0)

    def _turn(self, x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        angles = [[position * self._frequency(pair) for pair in range(half)] for position in range(x.shape[1])]
        table = torch.tensor(angles, dtype=torch.float64)
        turned = torch.complex(x[..., :half], x[..., half:]) * torch.polar(torch.ones_like(table), table)
        return torch.cat([turned.real, turned.imag], -1)

    def _frequency(self, pair: int) -> float:
        frequency = float(self.config.rope_theta ** (-2 * pair / self.config.head_dim))
        scaling = self.config.rope_scaling
        if scaling is None:
            return frequency
        if scaling.type == "linear":
            return frequency / scaling.factor
        wavelength = 2 * math.pi / frequency
        if wavelength < scaling.original_max_seq_len / scaling.high_freq_factor:
            return frequency
        if wavelength > scaling.original_max_seq_len / scaling.low_freq_factor:
            return frequency / scaling.factor
        smooth = scaling.original_max_seq_len / wavelength - scaling.low_freq_factor
        smooth /= scaling.high_freq_factor - scaling.low_freq_factor
        return (1 - smooth) * frequency / scaling.factor + smooth * frequency

    def _sinusoids(self, seq_len: int) -> Tensor:
        dim = self.config.dim
        angles = [[position / 10_000 ** (entry // 2 * 2 / dim) for entry in range(dim)] for position in range(seq_len)]
        waves = [[(math.sin, math.cos)[entry % 2](angle) for entry, angle in enumerate(row)] for row in angles]
        return torch.tensor(waves, dtype=torch.float64)


@pytest.mark.parametrize("name", DECODERS)
def test_logits_and_every_gradient_are_those_of_the_plain_composition(name: str) -> None:
    config, model = build(name)
    ids = torch.randint(0, V, (3, T), generator=torch.Generator().manual_seed(1))
    weights = {key: value.detach().clone().requires_grad_() for key, value in model.named_parameters()}
    mine, plain = model.logits(ids), PlainDecoder(config, weights).logits(ids)
    torch.testing.assert_close(mine, plain, rtol=1e-10, atol=1e-10)

    upstream = torch.randn(mine.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    mine.backward(upstream)
    plain.backward(upstream)
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 0, key
        torch.testing.assert_close(parameter.grad, weights[key].grad, rtol=1e-9, atol=1e-9)


def test_the_stream_stays_fp32_under_autocast() -> None:
    config = TransformerConfig.model_validate({**SHAPE, **DECODERS["llama"]})
    model = build_model(config, V, T)
    model.initialize(0)
    stream_types: list[torch.dtype] = []
    branch_types: list[torch.dtype] = []

    def note(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        (stream_types if isinstance(module, Layer) else branch_types).append(output.dtype)

    for module in model.modules():
        if isinstance(module, (Layer, Attention)):
            module.register_forward_hook(note)
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        hidden = model(torch.zeros(1, T, dtype=torch.long))
    assert branch_types == [torch.bfloat16] * 2
    assert [*stream_types, hidden.dtype] == [torch.float32] * 3


def test_maps_onto_the_stream_start_smaller_with_depth() -> None:
    shape = {"num_layers": 8, "dim": 64, "num_heads": 4, "init_std": 0.1}
    model = build_model(TransformerConfig.model_validate(shape), V, T)
    model.initialize(0)
    for name, weight in model.body.named_parameters():
        if weight.ndim == 2:
            writes = name.endswith(("output.weight", "down.weight"))
            expected = 0.1 / math.sqrt(2 * 8) if writes else 0.1
            assert weight.std().item() == pytest.approx(expected, rel=0.05), name  # 4,096 draws or more: 1.1 % each


@pytest.mark.parametrize("tying", ["tied", "untied"])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_flops_are_those_that_a_counter_sees(name: str, tying: str) -> None:
    _, model = build(name, tying={"type": tying})
    ids = torch.zeros(2, T, dtype=torch.long)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:  # fused kernels on a CPU go uncounted
        logits = model.logits(ids)
        forward = counter.get_total_flops()
        logits.sum().backward()
    assert 3 * forward == counter.get_total_flops() == flops_per_token(model, T) * ids.numel()


def test_flops_of_a_layer_follow_the_palm_formula() -> None:
    """6 a parameter of its matrices and 12 H A T for attention, in training (Chowdhery et al. 2022, appendix B)."""
    config, model = build("gpt2", dim=24, head_dim=5)
    layer = next(module for module in model.modules() if isinstance(module, Layer))
    matrices = sum(weight.numel() for weight in layer.parameters() if weight.ndim == 2)
    assert matrices == 24 * (3 * 6 * 5) + 6 * 5 * 24 + 2 * 24 * 96
    for seq_len in (1, T, 1000):
        expected = 6 * matrices + 12 * config.num_heads * config.head_dim * seq_len
        assert 3 * layer.forward_flops_per_token(seq_len) == expected
