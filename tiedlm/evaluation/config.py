"""How a split is scored."""

from typing import Annotated

from tiedlm.config.base import Config, Execution, Size


class EvaluationConfig(Config):
    """Windows of `seq_len` tokens that start every `stride` tokens; each token is scored once, by its first window.

    `seq_len` null: as in training; `stride` null: as `seq_len`. Context runs across documents.
    """

    seq_len: Size | None = None
    stride: Size | None = None
    batch_size: Annotated[Size, Execution()] = 16
