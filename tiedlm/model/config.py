"""The shape of the decoder: a transformer or a recurrent one."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator

from tiedlm.config.base import Config, Fraction, Positive, Size, Whole, check, whole
from tiedlm.config.problems import shown
from tiedlm.tying.config import TiedConfig, TyingConfig

_WIDEST = 2**20


class LinearRopeScaling(Config):
    """Positions divided by `factor`."""

    type: Literal["linear"]
    factor: Positive


class Llama3RopeScaling(Config):
    """Low frequencies divided by `factor`, high ones kept, a smooth passage between (Llama 3.1)."""

    type: Literal["llama3"]
    factor: Positive
    low_freq_factor: Positive = 1.0
    high_freq_factor: Positive = 4.0
    original_max_seq_len: Size = 8192


RopeScaling = Annotated[LinearRopeScaling | Llama3RopeScaling, Field(discriminator="type")]


class LayerOrder(Config):
    """Fewer stored layers than depths: `cycle` of them one after another, again and again, or in `groups` of depths."""

    cycle: Size | None = None
    groups: Size | None = None

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

    num_kv_heads: num_heads; head_dim: dim / num_heads; feed_forward_dim: 4 dim; qkv_bias: bias.
    `layer_sharing` says which depths are one stored layer, and `separate_norms` whether each depth has norms of its own
    all the same (false where that is left out; null, and not to be set, where no layer is shared).
    `init_std` is the scale of the start of the body's matrices and of learned positions; the embeddings have their own.
    `logit_softcap` and `embedding_residual` are what every decoder has (see LanguageModel): they belong to the function
    that is computed, and stand here and not below `tying`, which a variant that names a type replaces whole.
    `vocab_size` and `max_seq_len` (null) come from the data.
    """

    type: Literal["transformer"] = "transformer"
    num_layers: Annotated[Whole, Field(gt=0, le=10_000)]
    dim: Annotated[Whole, Field(gt=0, le=_WIDEST)]
    num_heads: Size
    num_kv_heads: Size
    head_dim: Size
    feed_forward_dim: Size
    feed_forward: Literal["mlp", "swiglu"] = "mlp"
    activation: Literal["gelu", "gelu_tanh", "relu", "relu_squared", "silu"]
    dropout: Fraction = 0.0
    norm: Literal["layernorm", "rmsnorm"] = "layernorm"
    norm_eps: Positive = 1e-5
    positions: Literal["learned", "rope", "sinusoidal", "none"] = "learned"
    rope_theta: Positive = 10_000.0
    rope_scaling: RopeScaling | None = None
    bias: bool = True
    qkv_bias: bool
    init_std: Positive = 0.02
    max_seq_len: Size | None = None
    logit_softcap: Positive | None = None
    embedding_residual: bool = False
    vocab_size: Size | None = None
    layer_sharing: LayerSharing = "none"
    separate_norms: bool | None = None
    tying: TyingConfig = TiedConfig()

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
            default |= {"feed_forward_dim": 4 * dim, "head_dim": dim / heads}
        else:  # dim or num_heads is wrong or missing, which is said of that key alone
            default |= {"feed_forward_dim": 1, "head_dim": 2, "num_kv_heads": 1}
        if raw.get("layer_sharing", "none") != "none" and raw.get("separate_norms") is None:
            raw = {**raw, "separate_norms": False}
        return {**default, **raw}

    @field_validator("head_dim", mode="before")
    @classmethod
    def _whole(cls, head_dim: Any) -> Any:
        cut = isinstance(head_dim, float) and not head_dim.is_integer()
        check(not cut, f"head_dim {head_dim} (dim / num_heads where it is not given) is not a whole number")
        return head_dim

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        check(
            self.num_heads % self.num_kv_heads == 0,
            f"num_heads {self.num_heads} is not a multiple of num_kv_heads {self.num_kv_heads}",
        )
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
    """Layers of long short-term memory, as in the experiments that started the subject. Written in full once parsed.

    What goes in, what comes out and the last layer have the width `dim`, the layers before it `hidden_dim` (left out:
    dim). `variational_dropout`: one mask for all positions of a window, on the connections that `dropout` is on.
    recurrent_bias: one trained vector a layer or two, as torch has it. `carry_state`: a window goes on from the state
    that the one before it ended with; training then reads contiguous streams, and a split is scored in one go.
    `init_std` (left out: 1 / sqrt(3 dim), the standard deviation of torch's own start) is the scale of the start of
    the layers' matrices; the embeddings have their own. `logit_softcap` and `embedding_residual`: as in a transformer.
    `vocab_size` (null) comes from the data.
    """

    type: Literal["lstm"] = "lstm"
    num_layers: Annotated[Whole, Field(gt=0, le=10_000)]
    dim: Annotated[Whole, Field(gt=0, le=_WIDEST)]
    hidden_dim: Annotated[Whole, Field(gt=0, le=_WIDEST)]
    dropout: Fraction = 0.0
    variational_dropout: bool = False
    recurrent_bias: Literal["single", "double"] = "single"
    carry_state: bool = True
    init_std: Positive
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
        """A compiler would write a recurrence out, position by position, where the kernel has a loop."""
        return False

    @property
    def max_seq_len(self) -> None:
        """It reads windows of any length."""


def _of_a_type(raw: object) -> object:
    """A model whose type is not named is a transformer."""
    return {"type": "transformer", **raw} if isinstance(raw, dict) else raw


ModelConfig = Annotated[TransformerConfig | LstmConfig, Field(discriminator="type"), BeforeValidator(_of_a_type)]


class ShapeConfig(Config):
    """A file that holds a model alone: it builds and counts, it does not train."""

    model: ModelConfig
