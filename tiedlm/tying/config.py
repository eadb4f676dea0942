"""How the input and the output embedding relate: one config model a strategy."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from tiedlm.config.base import Config, FilledIn, Fraction, NonNegative, Positive, Size, check
from tiedlm.tying.share import Share, count_of

Norm = Literal["fro", "mean_square"]
Init = Literal["normal", "xavier_uniform", "by_frequency"]
PartOfRun = Annotated[float, Field(ge=0, le=1)]


class EmbeddingConfig(Config):
    """What every strategy has: the start (see table_init.py), what happens to the input vectors, an output bias."""

    init: Init = "normal"
    """Start of the tables with a row per token. by_frequency: normal, on a smaller scale the more frequent the
    token.
    """
    init_std: Positive | Literal["inverse_sqrt_dim"] = 0.02
    """Standard deviation of that start; inverse_sqrt_dim: 1 over the square root of dim, so that a row's norm is about
    1. xavier_uniform has a scale of its own.
    """
    input_scale: Positive | Literal["sqrt_dim"] = 1.0
    """Factor of the input vectors; sqrt_dim: the square root of dim."""
    embedding_norm: Literal["layernorm", "rmsnorm"] | None = None
    """Normalization of the input vectors, without a scale of its own; null: none."""
    embedding_dropout: Fraction = 0.0
    """Probability that a type's vectors are 0 in a micro-batch; the others are scaled by 1 / (1 - p)."""
    embedding_noise: NonNegative = 0.0
    """Standard deviation of what is added to each entry of the input vectors in training."""
    input_gradient_factor: NonNegative = 1.0
    """Factor of the gradient that reaches a table through the lookup."""
    output_bias: bool = False
    """Whether each token has a trained bias in its score."""
    output_bias_std: NonNegative = 0.0
    """Standard deviation of the start of that bias."""

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
    """One matrix for both."""

    @property
    def has_output_parameters(self) -> bool:
        return False


class SeparateOutputConfig(EmbeddingConfig):
    """What strategies have whose output embedding, or a part of it, is a matrix of its own."""

    output_init: Literal["independent", "copy", "zero"] = "independent"
    """Start of what of the output embedding is not shared."""
    output_init_std: NonNegative | Literal["inverse_sqrt_dim"] | None = None
    """Scale of an independent start; null: `init_std`."""

    @model_validator(mode="after")
    def _has_a_scale_to_set(self) -> Self:
        scaled = self.init != "xavier_uniform" or self.output_init_std is None
        check(scaled, "output_init_std means nothing to init: xavier_uniform")
        return self


class UntiedConfig(SeparateOutputConfig):
    """Two matrices."""

    type: Literal["untied"] = "untied"
    """Two matrices."""


class SoftConfig(SeparateOutputConfig):
    """Two matrices, input E and output W, with `strength` times a norm of E - W as a penalty."""

    type: Literal["soft"] = "soft"
    """Two matrices with a penalty on their distance."""
    strength: Positive = 0.1
    """Factor of the penalty."""
    norm: Norm = "fro"
    """fro: the Frobenius norm of the difference; mean_square: the mean of its squared entries."""


class PartialVocabularyConfig(SeparateOutputConfig):
    """One row for each of the `shared` most frequent tokens of the train split (or the rarest), two for each other."""

    type: Literal["partial_vocabulary"] = "partial_vocabulary"
    """One row for the most frequent (or rarest) tokens of the train split, two for the others."""
    shared: Share
    """How many tokens share their row: a count where whole, else a fraction of the vocabulary."""
    share: Literal["frequent", "rare"] = "frequent"
    """Which end of the vocabulary is shared."""

    def num_shared(self, vocab_size: int) -> int:
        """How many rows are shared."""
        return count_of(self.shared, vocab_size)

    def check_sizes(self, vocab_size: int | None, dim: int) -> None:
        fits = vocab_size is None or self.num_shared(vocab_size) <= vocab_size
        check(fits, f"tying.shared {self.shared:,} is more than the {vocab_size or 0:,} rows of the vocabulary")


class PartialDimensionsConfig(SeparateOutputConfig):
    """The first `shared` columns are one matrix's, the others are two."""

    type: Literal["partial_dimensions"] = "partial_dimensions"
    """The first columns are one matrix's, the others are two."""
    shared: Share
    """How many columns are shared: a count where whole, else a fraction of the width."""

    def num_shared(self, dim: int) -> int:
        """How many columns are shared."""
        return count_of(self.shared, dim)

    def check_sizes(self, vocab_size: int | None, dim: int) -> None:
        check(self.num_shared(dim) <= dim, f"tying.shared {self.shared:,} is more than the {dim:,} columns (dim)")


class ProjectedConfig(EmbeddingConfig):
    """One matrix for both, and a trained D x D map on the hidden state before it is scored.

    Map, `bias`, `activation` and `norm` (a layer norm) follow each other.
    """

    type: Literal["projected"] = "projected"
    """One matrix for both, and a trained D x D map of the hidden state before it is scored."""
    projection_init: Literal["identity", "normal"] = "identity"
    """Start of the map: the tied function, or normal with variance 1/D."""
    bias: bool = False
    """Whether the map has a bias."""
    activation: Literal["gelu", "relu", "tanh"] | None = None
    """Non-linearity after the map; null: none."""
    norm: bool = False
    """Whether a layer norm follows."""
    strength: Positive | None = None
    """Factor of a penalty, the Frobenius norm of the map; null: none."""


class FactorizedConfig(EmbeddingConfig):
    """A V x `width` table, a map from `width` to the model's width after it, and one back before the scores."""

    type: Literal["factorized"] = "factorized"
    """A V x width table, a map to the model's width after it, and one back before the scores."""
    width: Size
    """Width of the table."""
    share: Literal["table", "table_and_map", "nothing"] = "table"
    """One table with two maps, one table with one map (transposed on the way out), or two of each."""

    @property
    def has_output_parameters(self) -> bool:
        return self.share != "table_and_map"


_DIRECTIONS: dict[str, dict[str, Any]] = {
    "tie": {"switch_at": 0.3, "strength": 0.1, "norm": "fro"},
    "untie": {"switch_at": 0.67},
}


def _of(key: str) -> str:
    """The default of a key in words: it hangs on the direction."""
    return ", ".join(f"{values[key]} for {direction}" for direction, values in _DIRECTIONS.items() if key in values)


class ProgressiveConfig(SeparateOutputConfig):
    """Two matrices that become one at the fraction `switch_at` of the run (tie), or one that becomes two (untie).

    untie: two that start equal at `switch_at`, so `output_init` does not apply.
    Keys that belong to `tie` alone are null for `untie` and must not be set.
    """

    type: Literal["progressive"] = "progressive"
    """Two matrices that become one during the run, or one that becomes two."""
    direction: Literal["tie", "untie"] = "tie"
    """tie: two become one, their mean; untie: one becomes two that start equal."""
    switch_at: Annotated[PartOfRun, FilledIn(_of("switch_at"))]
    """Fraction of the run at which they become one or two."""
    penalty_from: Annotated[PartOfRun | None, FilledIn("a third of switch_at for tie")] = None
    """Fraction of the run from which the penalty of `soft` draws them together; of tie alone."""
    strength: Annotated[Positive | None, FilledIn(_of("strength"))] = None
    """Factor of that penalty; of tie alone."""
    norm: Annotated[Norm | None, FilledIn(_of("norm"))] = None
    """Norm of that penalty, as in `soft`; of tie alone."""

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
