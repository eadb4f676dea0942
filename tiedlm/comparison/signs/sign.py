"""What a sign is: a figure of a comparison by which its verdict is to be doubted. Free of torch."""

from collections.abc import Iterator
from typing import Literal

from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.verdict import signed_together
from tiedlm.config.base import Config

SignKind = Literal["still_falling", "slow_embeddings", "better_setting_tried", "coarse_grid", "edge_of_grid"]


class Sign(Config):
    """A figure that speaks against taking the verdict as it stands.

    `value` is the figure of `subject`, `limit` what it is held against: a sign is there where it lies beyond. Both are
    null for a choice at the edge of a grid. `statement` says it in words, without a full stop.
    """

    kind: SignKind
    variant: str
    subject: str
    value: float | None
    limit: float | None
    statement: str


def deciding_differences(finished: FinishedRuns) -> Iterator[Difference]:
    """The differences that a sign may doubt, the primary one first: those that were measured between pairs.

    Of two variants that are equal to the last bit there is nothing to doubt.
    """
    split = finished.deciding_split(*finished.variants_of_file)
    judged = sorted(finished.differences, key=lambda difference: not difference.is_primary)
    for difference in judged:
        is_measured = difference.mean is not None and difference.pairing.level != "none"
        if is_measured and difference.split == split and difference.verdict != "no_difference":
            yield difference


def limit_of(difference: Difference, finished: FinishedRuns) -> float:
    """What a change of a loss must exceed to matter: the difference, or the smallest one that is worthwhile."""
    assert difference.mean is not None
    return max(abs(difference.mean), finished.smallest_worthwhile)


def size_in_words(nats: float) -> str:
    """ "0.410"; without a sign."""
    return signed_together(abs(nats))[0].lstrip("+")


def difference_in_words(difference: Difference) -> str:
    """ "the difference of 0.150"."""
    assert difference.mean is not None
    return f"the difference of {size_in_words(difference.mean)}"
