"""How the input and the output embedding relate: one config model a strategy."""

from typing import Annotated, Literal

from pydantic import Field

from tiedlm.config import Config, NonNegative, Positive


class EmbeddingConfig(Config):
    """What every strategy has: the scale of the start, the factor on the input vectors, a bias per output row."""

    init_std: Positive = 0.02
    input_scale: Positive | Literal["sqrt_dim"] = 1.0
    output_bias: bool = False


class TiedConfig(EmbeddingConfig):
    """One matrix for both."""

    type: Literal["tied"] = "tied"


class UntiedConfig(EmbeddingConfig):
    """Two matrices. The output one starts `independent`, as a `copy` of the input one, or at `zero`.

    `output_init_std` (null: `init_std`) is the scale of an independent start.
    """

    type: Literal["untied"] = "untied"
    output_init: Literal["independent", "copy", "zero"] = "independent"
    output_init_std: NonNegative | None = None


TyingConfig = Annotated[TiedConfig | UntiedConfig, Field(discriminator="type")]
