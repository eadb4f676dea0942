"""Variants that the plan added at the baseline's size, and what of their bodies it changed. Free of torch."""

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeVar, get_args

from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.config.base import Config

SpentOn = Literal["itself", "width", "depth"]
MATCHED: dict[str, SpentOn] = {"matched_width": "width", "matched_depth": "depth"}
"""By the role of a variant that the plan adds: what of its body the parameters went to."""


class Spending(Config):
    """Where extra parameters are: in the variant `itself` (a second matrix, say), or in its body's width or depth."""

    spent_on: SpentOn


Spent = TypeVar("Spent", bound=Spending)


def in_order(spent: Iterable[Spent]) -> list[Spent]:
    """Sorted: itself, by width, by depth, in whatever order the variants were found."""
    places = get_args(SpentOn)
    return sorted(spent, key=lambda each: places.index(each.spent_on))


class MatchedVariant(NamedTuple):
    """The variant `of` with its body at another size, so that it has as many parameters as the baseline."""

    name: str
    of: str
    spent_on: SpentOn


def matched_variants(finished: FinishedRuns) -> list[MatchedVariant]:
    """Those that have finished, in the order in which variants are shown."""
    added = {variant: finished.added(variant) for variant in finished.by_variant}
    return [
        MatchedVariant(variant, why.of, MATCHED[why.role])
        for variant, why in added.items()
        if why is not None and why.role in MATCHED
    ]
