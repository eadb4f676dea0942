"""How a split is scored."""

from typing import Annotated

from tiedlm.config import Config, Count, Execution


class EvaluationConfig(Config):
    """Windows of `seq_len` tokens that start every `stride` tokens; each token is scored once, by its first window.

    `seq_len` null: as in training; `stride` null: as `seq_len`. Context runs across documents.
    """

    seq_len: Count | None = None
    stride: Count | None = None
    batch_size: Annotated[Count, Execution()] = 16
