"""How a split is scored. Free of torch."""

from dataclasses import dataclass
from typing import Annotated

from tiedlm.config.base import Config, Execution, Size


@dataclass(frozen=True)
class Windows:
    """Windows of `seq_len` tokens, one every `stride` tokens (1 <= stride <= seq_len)."""

    seq_len: int
    stride: int


class EvaluationConfig(Config):
    """How a split is scored: each token once, by its first window. Context runs across documents."""

    seq_len: Size | None = None
    """Tokens in a window when a split is scored; null: as in training."""
    stride: Size | None = None
    """Tokens from the start of one window to the next; null: as `seq_len`."""
    batch_size: Annotated[Size, Execution()] = 16
    """Windows scored at once."""

    def windows(self, training_seq_len: int, seq_len: int | None = None, stride: int | None = None) -> Windows:
        """The windows in which a split is scored; `seq_len` and `stride` replace those of the config.

        A stride of the config is cut to the length of the window; one that is passed is taken as it is.
        """
        length = seq_len or self.seq_len or training_seq_len
        return Windows(length, stride or min(self.stride or length, length))
