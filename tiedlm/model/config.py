"""The shape of the decoder: a transformer or a recurrent one."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, ValidationInfo, field_validator, model_validator

from tiedlm.config.base import Config, DefaultType, FilledIn, Fraction, Positive, Size, Whole, check, whole
from tiedlm.config.problems import shown
from tiedlm.tying.config import TiedConfig, TyingConfig

_WIDEST = 2**20
_QUOTIENT = "dim / num_heads"
_DEFAULT = DefaultType("transformer")
Activation = Literal["gelu", "gelu_tanh", "relu", "relu_squared", "silu"]


class LinearRopeScaling(Config):
    """All positions divided by `factor`."""

    type: Literal["linear"]
    """All positions are divided by the factor."""
    factor: Positive
    """By how much the context grows."""


class Llama3RopeScaling(Config):
    """Low frequencies divided by `factor`, high ones kept, a smooth passage between (Llama 3.1)."""

    type: Literal["llama3"]
    """Low frequencies divided by `factor`, high ones kept, a smooth passage between (Llama 3.1)."""
    factor: Positive
    """By how much the context grows."""
    low_freq_factor: Positive = 1.0
    """A wave that fits at most so often into the original context is divided in full."""
    high_freq_factor: Positive = 4.0
    """A wave that fits at least so often into the original context is kept."""
    original_max_seq_len: Size = 8192
    """Context length before the scaling."""


RopeScaling = Annotated[LinearRopeScaling | Llama3RopeScaling, Field(discriminator="type")]


class LayerOrder(Config):
    """Fewer stored layers than depths: `cycle` of them one after another, again and again, or in `groups` of depths."""

    cycle: Size | None = None
    """So many stored layers, one after another, again and again."""
    groups: Size | None = None
    """So many stored layers, each for a group of neighbouring depths."""

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        given = [key for key in ("cycle", "groups") if getattr(self, key) is not None]
        check(len(given) == 1, "give one of cycle and groups, and null for the other")
        return self


def _word_or_mapping(value: object) -> object:
    known = isinstance(value, dict | LayerOrder) or value in ("none", "all")
    check(known, f"{shown(value)}: must be none, all, {{cycle: k}} or {{groups: k}}")
    return value


LayerSharing = Annotated[
    Annotated[Literal["none", "all"], Tag("word")] | Annotated[LayerOrder, Tag("order")],
    Discriminator(lambda value: "word" if isinstance(value, str) else "order"),
    BeforeValidator(_word_or_mapping),
]


class TransformerConfig(Config):
    """A pre-norm decoder. Written in full once parsed: what is left out is filled in from what is given.

    `logit_softcap` and `embedding_residual` are what every decoder has (see LanguageModel): they belong to the function
    that is computed, and stand here and not below `tying`, which a variant that names a type replaces whole.
    """

    type: Literal["transformer"] = "transformer"
    """A pre-norm transformer decoder."""
    num_layers: Annotated[Whole, Field(gt=0, le=10_000)]
    """Number of layers."""
    dim: Annotated[Whole, Field(gt=0, le=_WIDEST)]
    """Model width D."""
    num_heads: Size
    """Number of attention heads."""
    num_kv_heads: Annotated[Size, FilledIn("num_heads")]
    """Number of heads of keys and values: fewer than num_heads is grouped-query attention."""
    head_dim: Annotated[Size, FilledIn(_QUOTIENT)]
    """Width of a head."""
    feed_forward_dim: Annotated[Size, FilledIn("4 dim")]
    """Inner width of the feed-forward layer."""
    feed_forward: Literal["mlp", "swiglu"] = "mlp"
    """Kind of feed-forward layer."""
    activation: Annotated[Activation, FilledIn("gelu, silu for swiglu")]
    """Non-linearity of the feed-forward layer."""
    dropout: Fraction = 0.0
    """Probability that an entry of the input vectors, or of what a layer gives, is 0 in training."""
    norm: Literal["layernorm", "rmsnorm"] = "layernorm"
    """Kind of normalization."""
    norm_eps: Positive = 1e-5
    """What the normalization adds to the variance."""
    positions: Literal["learned", "rope", "sinusoidal", "none"] = "learned"
    """How positions are told apart."""
    rope_theta: Positive = 10_000.0
    """Base of the wave lengths of rope."""
    rope_scaling: RopeScaling | None = None
    """How rope is stretched to a longer context."""
    bias: bool = True
    """Whether linear maps have a bias."""
    qkv_bias: Annotated[bool, FilledIn("bias")]
    """Whether the maps to queries, keys and values have a bias."""
    init_std: Positive = 0.02
    """Standard deviation of the start of the body's matrices and of learned positions, not of the embeddings."""
    max_seq_len: Size | None = None
    """Longest window that the model can read; null: that of the data."""
    logit_softcap: Positive | None = None
    """Bound c of the scores, which become c * tanh(score / c); null: none."""
    embedding_residual: bool = False
    """Whether the input vectors are added to the hidden state before it is scored."""
    vocab_size: Size | None = None
    """Vocabulary size V; null: that of the tokenizer."""
    layer_sharing: LayerSharing = "none"
    """Which depths are one stored layer: none, all, {cycle: k} or {groups: k}."""
    separate_norms: Annotated[bool | None, FilledIn("false where layers are shared")] = None
    """Whether each depth has its own norms where layers are shared; not to be set where none is."""
    tying: TyingConfig = TiedConfig()
    """How input and output embedding relate, by `type`."""

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        dim, heads = whole(raw.get("dim")), whole(raw.get("num_heads"))
        bias = raw.get("bias", cls.model_fields["bias"].default)
        default: dict[str, Any] = {"num_kv_heads": heads, "qkv_bias": bias}
        default["activation"] = "silu" if raw.get("feed_forward") == "swiglu" else "gelu"
        if isinstance(dim, int) and isinstance(heads, int) and 0 < dim <= _WIDEST and heads > 0:
            default |= {"feed_forward_dim": 4 * dim, "head_dim": _QUOTIENT if dim % heads else dim // heads}
        else:  # dim or num_heads is wrong or missing, which is said of that key alone
            default |= {"feed_forward_dim": 1, "head_dim": 2, "num_kv_heads": 1}
        if raw.get("layer_sharing", "none") != "none" and raw.get("separate_norms") is None:
            raw = {**raw, "separate_norms": False}
        return {**default, **raw}

    @field_validator("head_dim", mode="before")
    @classmethod
    def _whole(cls, head_dim: Any, info: ValidationInfo) -> Any:
        dim, heads = info.data.get("dim"), info.data.get("num_heads")
        uneven = f"dim {dim} is not a multiple of num_heads {heads}: change one of them, or give head_dim"
        check(head_dim != _QUOTIENT, uneven)
        return head_dim

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        heads, kv_heads = self.num_heads, self.num_kv_heads
        check(heads % kv_heads == 0, f"num_heads {heads} is not a multiple of num_kv_heads {kv_heads}")
        check(self.positions != "rope" or self.head_dim % 2 == 0, f"rope needs an even head_dim, not {self.head_dim}")
        check(self.positions == "rope" or self.rope_scaling is None, "rope_scaling needs positions: rope")
        check(self.positions != "sinusoidal" or self.dim % 2 == 0, f"sinusoidal needs an even dim, not {self.dim}")
        if isinstance(self.layer_sharing, LayerOrder):
            stored = self.layer_sharing.cycle or self.layer_sharing.groups or 0
            check(stored <= self.num_layers, f"layer_sharing {stored} is more than the {self.num_layers} layers")
        shares = self.layer_sharing != "none"
        check(shares or self.separate_norms is None, "separate_norms means nothing to layer_sharing: none")
        self.tying.check_sizes(self.vocab_size, self.dim)
        return self

    @property
    def carries_state(self) -> bool:
        """Whether a window goes on from where the one before it ended."""
        return False

    @property
    def compiles(self) -> bool:
        """Whether `training.compile` is for it."""
        return True


class LstmConfig(Config):
    """A recurrent decoder. Written in full once parsed. Keys without a text of their own: as in a transformer."""

    type: Literal["lstm"] = "lstm"
    """Layers of long short-term memory, as in the experiments that tying was first shown on."""
    num_layers: Annotated[Whole, Field(gt=0, le=10_000)]
    dim: Annotated[Whole, Field(gt=0, le=_WIDEST)]
    hidden_dim: Annotated[Annotated[Whole, Field(gt=0, le=_WIDEST)], FilledIn("dim")]
    """Width of the layers before the last, which has dim."""
    dropout: Fraction = 0.0
    variational_dropout: bool = False
    """Whether one dropout mask holds for all positions of a window."""
    recurrent_bias: Literal["single", "double"] = "single"
    """One trained bias vector a layer, or two, as torch has it."""
    carry_state: bool = True
    """Whether a window goes on from the state where the one before ended; training then reads contiguous streams."""
    init_std: Annotated[Positive, FilledIn("1 / sqrt(3 dim), as torch")]
    """Standard deviation of the start of the layers' matrices, not of the embeddings."""
    logit_softcap: Positive | None = None
    embedding_residual: bool = False
    vocab_size: Size | None = None
    tying: TyingConfig = TiedConfig()

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        dim = whole(raw.get("dim"))
        is_width = isinstance(dim, int) and 0 < dim <= _WIDEST  # where it is not, that is said of dim alone
        width = dim if is_width and isinstance(dim, int) else 1
        return {"hidden_dim": width, "init_std": (3 * width) ** -0.5, **raw}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        alone = self.num_layers == 1 and self.hidden_dim != self.dim
        check(not alone, f"hidden_dim {self.hidden_dim} means nothing to a single layer, which has dim {self.dim}")
        self.tying.check_sizes(self.vocab_size, self.dim)
        return self

    @property
    def carries_state(self) -> bool:
        """Whether a window goes on from where the one before it ended."""
        return self.carry_state

    @property
    def compiles(self) -> bool:
        """A compiler would write the recurrence out, where the kernel has a loop."""
        return False

    @property
    def max_seq_len(self) -> None:
        """It reads windows of any length."""


def _of_a_type(raw: object) -> object:
    """A model whose type is not named is a transformer."""
    return {"type": _DEFAULT.type, **raw} if isinstance(raw, dict) else raw


ModelConfig = Annotated[
    TransformerConfig | LstmConfig, Field(discriminator="type"), BeforeValidator(_of_a_type), _DEFAULT
]


class ShapeConfig(Config):
    """A file that holds a model alone: it builds and counts, it does not train."""

    model: ModelConfig
    """The decoder, by `type`: its shape and its tying."""
