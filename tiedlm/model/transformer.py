"""The body of a pre-norm decoder: layers between the input embedding and the final norm."""

from torch import Tensor, nn

from tiedlm.model.config import TransformerConfig
from tiedlm.model.layers import ACTIVATIONS, MLP, Attention, GatedMLP, LayerNorm, RMSNorm
from tiedlm.model.linear import Linear
from tiedlm.model.positions import LearnedPositions, Rope, Rotation, SinusoidalPositions
from tiedlm.model.sharing import layer_order
from tiedlm.model.state import State


class DepthNorms(nn.Module):
    """The norms of one depth, where these are not the layer's own."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.attention_norm = build_norm(config)
        self.feed_forward_norm = build_norm(config)


class Layer(nn.Module):
    """Attention, then feed-forward; each reads the normed residual stream and adds to the stream.

    Its norms are None where every depth has its own.
    """

    attention_norm: LayerNorm | RMSNorm
    feed_forward_norm: LayerNorm | RMSNorm

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.register_module("attention_norm", None if config.separate_norms else build_norm(config))
        self.attention = build_attention(config)
        self.register_module("feed_forward_norm", None if config.separate_norms else build_norm(config))
        self.feed_forward = build_feed_forward(config)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, hidden: Tensor, rotation: Rotation | None, norms: DepthNorms | None = None) -> Tensor:
        """hidden (B, T, D) -> (B, T, D), in the precision of `hidden` whatever the branches run in.

        `norms` are those of the depth, where the layer has none.
        """
        norm_owner = self if norms is None else norms
        hidden = hidden + self.dropout(self.attention(norm_owner.attention_norm(hidden), rotation))
        result: Tensor = hidden + self.dropout(self.feed_forward(norm_owner.feed_forward_norm(hidden)))
        return result

    def forward_flops_per_token(self, seq_len: int) -> int:
        """2 FLOPs per weight, plus 4 T H A for the products of queries with keys and of attention weights with values.

        Every token is charged all `seq_len` positions, though causality spares it half of them: the usual convention
        (Chowdhery et al. 2022, PaLM, appendix B). Norms, biases, activations and softmax are not counted.
        """
        matrices = sum(module.weight.numel() for module in self.modules() if isinstance(module, Linear))
        return 2 * matrices + 2 * 2 * seq_len * self.attention.num_heads * self.attention.head_dim


class Transformer(nn.Module):
    """`num_layers` depths over possibly fewer stored layers: `order[depth]` is the index of the layer that acts there.

    Rotary positions, where there are any, are worked out once for all of them.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        rotary = config.positions == "rope"
        self.rope = Rope(config.head_dim, config.rope_theta, config.rope_scaling) if rotary else None
        self.order = layer_order(config.layer_sharing, config.num_layers)
        self.layers = nn.ModuleList(Layer(config) for _ in range(max(self.order) + 1))
        self.norms = nn.ModuleList(DepthNorms(config) for _ in self.order) if config.separate_norms else None

    def forward(self, hidden: Tensor, state: State | None = None) -> Tensor:
        """hidden (B, T, D) -> (B, T, D); what came before the window is not looked at, so a `state` stays as it is."""
        rotation = None if self.rope is None else self.rope(hidden)
        for depth, stored in enumerate(self.order):
            norms = None if self.norms is None else self.norms[depth]
            hidden = self.layers[stored](hidden, rotation, norms)
        return hidden

    def forward_flops_per_token(self, seq_len: int) -> int:
        """Floating-point operations of the forward pass of one token through the layers, in a window of `seq_len`."""
        costs = [layer.forward_flops_per_token(seq_len) for layer in self.modules() if isinstance(layer, Layer)]
        return sum(costs[stored] for stored in self.order)


def build_norm(config: TransformerConfig) -> LayerNorm | RMSNorm:
    """The norm that `config` names; a layernorm has a bias where linear maps have one."""
    if config.norm == "rmsnorm":
        return RMSNorm(config.dim, eps=config.norm_eps)
    return LayerNorm(config.dim, eps=config.norm_eps, bias=config.bias)


def build_attention(config: TransformerConfig) -> Attention:
    """The attention that `config` describes."""
    return Attention(
        config.dim,
        config.num_heads,
        config.num_kv_heads,
        config.head_dim,
        bias=config.bias,
        qkv_bias=config.qkv_bias,
        dropout=config.dropout,
        init_std=config.init_std,
        output_std=_residual_std(config),
    )


def build_feed_forward(config: TransformerConfig) -> MLP | GatedMLP:
    """The feed-forward part that `config` describes."""
    kind: type[MLP | GatedMLP] = GatedMLP if config.feed_forward == "swiglu" else MLP
    return kind(
        config.dim,
        config.feed_forward_dim,
        ACTIVATIONS[config.activation],
        bias=config.bias,
        init_std=config.init_std,
        output_std=_residual_std(config),
    )


def build_positions(config: TransformerConfig, max_seq_len: int) -> LearnedPositions | SinusoidalPositions | None:
    """What is added to the token vectors to say where they stand; None where nothing is."""
    if config.positions == "learned":
        return LearnedPositions(max_seq_len, config.dim, config.init_std)
    return SinusoidalPositions() if config.positions == "sinusoidal" else None


def _residual_std(config: TransformerConfig) -> float:
    """Scale of the maps that write to the residual stream: its variance should not grow with their number (GPT-2)."""
    return float(config.init_std / (2 * config.num_layers) ** 0.5)
