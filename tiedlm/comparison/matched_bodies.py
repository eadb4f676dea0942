"""Which variants the plan added to match the baseline's size, and what of their bodies it changed. Free of torch."""

from collections.abc import Iterable
from typing import Literal, TypeVar, get_args

from tiedlm.config.base import Config
from tiedlm.run.result import RunResult

SpentOn = Literal["itself", "width", "depth"]
MATCHED: dict[str, SpentOn] = {"matched_width": "width", "matched_depth": "depth"}
"""By the role of a variant that the plan adds: what of its body the parameters went to."""


class Spending(Config):
    """Where a variant has its extra parameters: in `itself` (a second matrix, say), or in its body's width or depth."""

    spent_on: SpentOn


Spent = TypeVar("Spent", bound=Spending)


def in_order(spent: Iterable[Spent]) -> list[Spent]:
    """Sort: itself, width, depth, whatever the order in which the variants were found."""
    places = get_args(SpentOn)
    return sorted(spent, key=lambda each: places.index(each.spent_on))


def matched_of(run: RunResult) -> str | None:
    """The variant whose body was given another size in this one; null where this is no such variant."""
    added = run.config.get("added") or {}
    return str(added["of"]) if added.get("role") in MATCHED else None


def spent_on(run: RunResult) -> SpentOn:
    """What the parameters of such a variant went to."""
    return MATCHED[run.config["added"]["role"]]
