"""How the input and the output embedding relate: one config model a strategy."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from tiedlm.config.base import Config, Fraction, NonNegative, Positive, Size, check
from tiedlm.config.problems import shown

Norm = Literal["fro", "mean_square"]
Init = Literal["normal", "xavier_uniform", "by_frequency"]
PartOfRun = Annotated[float, Field(ge=0, le=1)]


def _count_or_fraction(value: object) -> object:
    """1e3 is a whole number to its writer, and 1.0 is all of them, not one."""
    if isinstance(value, float) and value > 1 and value.is_integer():
        value = int(value)
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    is_fraction = isinstance(value, float) and 0 <= value <= 1
    check(is_count or is_fraction, f"{shown(value)}: must be a count (a whole number) or a fraction from 0.0 to 1.0")
    return value


Share = Annotated[int | float, BeforeValidator(_count_or_fraction)]
"""How many of something: 1 is one of them, 1.0 is all of them."""


def _count(share: int | float, total: int) -> int:
    return share if isinstance(share, int) else round(share * total)


class EmbeddingConfig(Config):
    """What every strategy has: the start, what happens to the input vectors, a bias per output row.

    `init` fills tables with a row per token: normal with `init_std` (`inverse_sqrt_dim`: 1 over the root of the width,
    so that a row's norm is about 1); xavier_uniform, which has a scale of its own; by_frequency, normal with a smaller
    scale the more often the train split has the token (see table_init.py). In training `embedding_dropout` is the
    probability that a type's vectors are 0 in a micro-batch (the others are scaled by 1 / (1 - p)), and
    `embedding_noise` the standard deviation of what is added to each entry. `embedding_norm` has no scale of its own.
    `input_gradient_factor` multiplies the gradient that reaches a table through the lookup.
    """

    init: Init = "normal"
    init_std: Positive | Literal["inverse_sqrt_dim"] = 0.02
    input_scale: Positive | Literal["sqrt_dim"] = 1.0
    embedding_norm: Literal["layernorm", "rmsnorm"] | None = None
    embedding_dropout: Fraction = 0.0
    embedding_noise: NonNegative = 0.0
    input_gradient_factor: NonNegative = 1.0
    output_bias: bool = False
    output_bias_std: NonNegative = 0.0

    @model_validator(mode="after")
    def _has_a_bias_to_start(self) -> Self:
        check(self.output_bias or self.output_bias_std == 0, "output_bias_std needs output_bias: true")
        return self

    @property
    def has_output_parameters(self) -> bool:
        """Whether a parameter belongs to the output embedding alone."""
        return True

    def check_sizes(self, vocab_size: int | None, dim: int) -> None:
        """Raise ValueError where the strategy does not fit; a vocabulary that is not known yet (None) fits."""

    def check_length(self, num_steps: int) -> None:
        """Raise ValueError where a run of `num_steps` is too short for what the strategy does in it."""


class TiedConfig(EmbeddingConfig):
    """One matrix for both."""

    type: Literal["tied"] = "tied"

    @property
    def has_output_parameters(self) -> bool:
        return False


class SeparateOutputConfig(EmbeddingConfig):
    """`output_init`: what of the output embedding is not shared starts `independent`, as a `copy`, or at `zero`.

    `output_init_std` (null: `init_std`) is the scale of an independent start.
    """

    output_init: Literal["independent", "copy", "zero"] = "independent"
    output_init_std: NonNegative | Literal["inverse_sqrt_dim"] | None = None

    @model_validator(mode="after")
    def _has_a_scale_to_set(self) -> Self:
        scaled = self.init != "xavier_uniform" or self.output_init_std is None
        check(scaled, "output_init_std means nothing to init: xavier_uniform")
        return self


class UntiedConfig(SeparateOutputConfig):
    """Two matrices."""

    type: Literal["untied"] = "untied"


class SoftConfig(SeparateOutputConfig):
    """Two matrices, input E and output W, with a penalty on their distance.

    fro: `strength` times the Frobenius norm of E - W; mean_square: `strength` times the mean of its squared entries.
    """

    type: Literal["soft"] = "soft"
    strength: Positive = 0.1
    norm: Norm = "fro"


class PartialVocabularyConfig(SeparateOutputConfig):
    """One row for each of the `shared` most frequent tokens of the train split (or the rarest), two for each other.

    `shared` is a count of tokens where whole, else a fraction of the vocabulary.
    """

    type: Literal["partial_vocabulary"] = "partial_vocabulary"
    shared: Share
    share: Literal["frequent", "rare"] = "frequent"

    def num_shared(self, vocab_size: int) -> int:
        """How many rows are shared."""
        return _count(self.shared, vocab_size)

    def check_sizes(self, vocab_size: int | None, dim: int) -> None:
        fits = vocab_size is None or self.num_shared(vocab_size) <= vocab_size
        check(fits, f"tying.shared {self.shared:,} is more than the {vocab_size or 0:,} rows of the vocabulary")


class PartialDimensionsConfig(SeparateOutputConfig):
    """The first `shared` columns are one matrix's, the others are two.

    `shared` is a count of columns where whole, else a fraction of the width.
    """

    type: Literal["partial_dimensions"] = "partial_dimensions"
    shared: Share

    def num_shared(self, dim: int) -> int:
        """How many columns are shared."""
        return _count(self.shared, dim)

    def check_sizes(self, vocab_size: int | None, dim: int) -> None:
        check(self.num_shared(dim) <= dim, f"tying.shared {self.shared:,} is more than the {dim:,} columns (dim)")


class ProjectedConfig(EmbeddingConfig):
    """One matrix for both, and a trained D x D map on the hidden state before it is scored.

    Map, `bias`, `activation` and `norm` (a layer norm) follow each other. `strength` (null: none) times the Frobenius
    norm of the map is a penalty. A `normal` start has the variance 1/D, an `identity` is the tied function.
    """

    type: Literal["projected"] = "projected"
    projection_init: Literal["identity", "normal"] = "identity"
    bias: bool = False
    activation: Literal["gelu", "relu", "tanh"] | None = None
    norm: bool = False
    strength: Positive | None = None


class FactorizedConfig(EmbeddingConfig):
    """A V x `width` table, a map from `width` to the model's width after it, and one back before the scores.

    `share`: one table with two maps, one table with one map (used transposed on the way out), or two of each.
    """

    type: Literal["factorized"] = "factorized"
    width: Size
    share: Literal["table", "table_and_map", "nothing"] = "table"

    @property
    def has_output_parameters(self) -> bool:
        return self.share != "table_and_map"


_DIRECTIONS: dict[str, dict[str, Any]] = {
    "tie": {"switch_at": 0.3, "strength": 0.1, "norm": "fro"},
    "untie": {"switch_at": 0.67},
}


class ProgressiveConfig(SeparateOutputConfig):
    """Two matrices that become one at the fraction `switch_at` of the run (tie), or one that becomes two (untie).

    tie: independent until `penalty_from` (null: a third of `switch_at`), with the penalty of `soft` until `switch_at`,
    their mean from then on.
    untie: two that start equal at `switch_at`, so `output_init` does not apply.
    Keys that belong to `tie` alone are null for `untie` and must not be set.
    """

    type: Literal["progressive"] = "progressive"
    direction: Literal["tie", "untie"] = "tie"
    switch_at: PartOfRun
    penalty_from: PartOfRun | None = None
    strength: Positive | None = None
    norm: Norm | None = None

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        direction = raw.get("direction", "tie")
        defaults = _DIRECTIONS.get(direction, {}) if isinstance(direction, str) else {}
        given = {key: value for key, value in raw.items() if value is not None or key not in defaults}
        filled = {"switch_at": 1.0, **defaults, **given}  # of a wrong direction the direction alone is wrong
        switch_at = filled["switch_at"]
        if direction == "tie" and filled.get("penalty_from") is None and isinstance(switch_at, (int, float)):
            filled["penalty_from"] = round(switch_at / 3, 6)
        return filled

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.penalty_from is not None:
            later = f"penalty_from {self.penalty_from:g} is above switch_at {self.switch_at:g}"
            check(self.penalty_from <= self.switch_at, f"{later}; give equal ones for no penalty")
        if self.direction == "untie":
            for key in ("penalty_from", "strength", "norm", "output_init_std"):
                check(getattr(self, key) is None, f"{key} means nothing to direction: untie")
            check(self.output_init == "independent", "output_init means nothing to direction: untie")
        return self

    def check_length(self, num_steps: int) -> None:
        last = (num_steps - 1) / num_steps
        switches = self.switch_at == 1 or self.switch_at <= last
        check(switches, f"tying.switch_at {self.switch_at:g} comes after the last of {num_steps:,} steps")


TyingConfig = Annotated[
    TiedConfig
    | UntiedConfig
    | SoftConfig
    | PartialVocabularyConfig
    | PartialDimensionsConfig
    | ProjectedConfig
    | FactorizedConfig
    | ProgressiveConfig,
    Field(discriminator="type"),
]
