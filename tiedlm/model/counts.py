"""How many parameters a model has and what a token costs: the record alone. Free of torch."""

from tiedlm.config.base import Config

PARTS = (
    "input_embedding",
    "output_embedding",
    "shared_embedding",
    "positions",
    "body",
    "final_norm",
    "output_bias",
)


class ParameterCounts(Config):
    """Parameters by part (keys: PARTS), adding up to `total`; training FLOPs a token at the run's seq_len.

    `non_embedding` is the total minus embeddings, positions and output bias. `inference_total` leaves out what only
    training needs (null: not counted).
    """

    total: int
    non_embedding: int
    flops_per_token: int
    parts: dict[str, int]
    inference_total: int | None = None
