"""The two matrices of one trained model, with what is known of its tokens."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor


class Start(NamedTuple):
    """Both matrices before the first step of training, (V, D) and (V, E)."""

    input: Tensor
    output: Tensor


class UnknownStartError(Exception):
    """The start of a model cannot be drawn again; the message is the reason."""


def _no_start() -> Start:
    raise UnknownStartError("only a run knows where it started")


@dataclass(frozen=True)
class EmbeddingPair:
    """Input embedding (V, D) and output embedding (V, E) of one model; they are one tensor where the model has one.

    Rows as the table has them: of factors their product; without `input_scale`, norm, dropout and noise of the input
    path. `tokens` are the names of the tokens, no two alike, and `counts` (V,) how often each was a target in training;
    each may be None, with the reason in `absent` under its name. `draw_start` raises UnknownStartError.
    `start_hash` is the SHA-256 of the input embedding at the start; None where it is not known.
    """

    name: str
    path: str
    input: Tensor
    output: Tensor
    tokens: list[str] | None = None
    counts: Tensor | None = None
    step: int | None = None
    tying: str | None = None
    start_hash: str | None = None
    absent: dict[str, str] = field(default_factory=dict)
    draw_start: Callable[[], Start] = _no_start

    @property
    def vocab_size(self) -> int:
        """The number of rows of either matrix."""
        return len(self.input)

    @cached_property
    def start(self) -> Start:
        """Both matrices at the start, drawn once. Raises UnknownStartError."""
        return self.draw_start()

    @cached_property
    def is_one_matrix(self) -> bool:
        """Whether the two are one tensor, or equal in every entry."""
        return self.input.data_ptr() == self.output.data_ptr() or torch.equal(self.input, self.output)
