"""What was measured so far: figures, reasons of those that are null, and figures of each token by frequency."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from tiedlm.embeddings.neighbours import K
from tiedlm.embeddings.schema import Bin
from tiedlm.embeddings.sides import MeasuredSide
from tiedlm.run.token_types import BINS, bins_of

Values = tuple[Tensor, Tensor | None]
"""A figure of each of some tokens (n,), and their places; None: of all, in order."""
Said = Callable[[str], None]
"""Hears of each measure that was taken."""
_KEY_OF = {"rank": "effective_rank", "symmetry": "symmetric_share"}
"""The key of a measure's figure, where it has another name."""


class UnusableError(Exception):
    """A measure cannot be taken; the message is the reason."""


@dataclass
class Taken:
    """`fields` of the schema, `tokens` for the breakdown by frequency, `absent` reasons by key."""

    fields: dict[str, object] = field(default_factory=dict)
    tokens: dict[str, Values] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    def take(self, name: str, measure: Callable[[], None], num_tokens: int) -> None:
        """Take one measure, or keep the reason why it cannot be taken."""
        try:
            if num_tokens < 2:
                raise UnusableError("fewer than 2 tokens are left to measure")
            measure()
        except UnusableError as error:
            self.absent[_KEY_OF.get(name, name)] = str(error)

    def bins(self, side: MeasuredSide) -> list[Bin]:
        """Means over the tokens of each bin; none where it is not known how often tokens were seen."""
        counts = side.counts
        if counts is None:
            return []
        bins = torch.from_numpy(bins_of(counts.numpy())).long()
        return [
            Bin(label=label, num_tokens=int((bins == place).sum()), means=_means(bins, place, self.tokens))
            for place, label in enumerate(BINS)
        ]


def _means(bins: Tensor, place: int, tokens: Mapping[str, Values]) -> dict[str, float | None]:
    inside = {
        key: figures[(bins if places is None else bins[places]) == place] for key, (figures, places) in tokens.items()
    }
    return {key: mean(values) if len(values) else None for key, values in inside.items()}


def mean(values: Tensor) -> float:
    """Of at least one value."""
    return float(values.mean())


def check_varies(side: MeasuredSide) -> None:
    """Raise UnusableError where nothing is left of the rows once they are centred."""
    if side.matrix.is_constant:
        raise UnusableError(f"all rows of {side.pair.name}'s {side.side} are equal")


def check_enough_for_neighbours(side: MeasuredSide) -> None:
    """Raise UnusableError where there are too few tokens for K neighbours to mean anything."""
    num_rows = side.matrix.num_rows
    if num_rows < K + 2:
        raise UnusableError(f"{K} neighbours take at least {K + 2} tokens, and there are {num_rows}")
