"""What a larger variant has and costs beyond a smaller one, and what that buys. Free of torch."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar, get_args

from tiedlm.comparison.contrast import Difference, contrast
from tiedlm.comparison.summary import tokens_per_second
from tiedlm.config.base import Config
from tiedlm.run.result import RunResult

SpentOn = Literal["itself", "width", "depth"]
MATCHED: dict[str, SpentOn] = {"matched_width": "width", "matched_depth": "depth"}
"""By the role of a variant that the plan adds: what of its body the parameters went to."""


class Spending(Config):
    """What has its parameters somewhere: in the variant `itself` (a second matrix, say), the `width` or the `depth`."""

    spent_on: SpentOn


Spent = TypeVar("Spent", bound=Spending)


def in_order(spent: Iterable[Spent]) -> list[Spent]:
    """By width before by depth, in whatever order the variants were found."""
    places = get_args(SpentOn)
    return sorted(spent, key=lambda each: places.index(each.spent_on))


class Purchase(Spending):
    """Counts are `larger` minus `smaller`; each percentage is of the smaller one.

    `persistent_bytes` are parameters, gradients and the values of `optimizer`, as predicted; null with the
    reason. Speed is as measured. `bought` are nats per token on `split`: above 0, the larger one has the lower loss;
    with the 95 % t-interval over seeds, null for one seed. Null with the reason where the runs are no pairs.
    """

    larger: str
    smaller: str
    parameters: int
    parameters_percent: float
    optimizer: str | None
    persistent_bytes: int | None
    persistent_reason: str | None = None
    flops_per_token: int
    flops_percent: float
    tokens_per_second_percent: float | None
    split: str
    bought: float | None
    bought_ci95: tuple[float, float] | None
    bought_reason: str | None = None
    num_seeds: int


def matched_of(run: RunResult) -> str | None:
    """The variant whose body was given another size in this one; null where this is no such variant."""
    added = run.config.get("added") or {}
    return str(added["of"]) if added.get("role") in MATCHED else None


def spent_on(run: RunResult) -> SpentOn:
    """What the parameters of such a variant went to."""
    return MATCHED[run.config["added"]["role"]]


def purchase(one: Sequence[RunResult], other: Sequence[RunResult], spent: SpentOn, split: str) -> Purchase:
    """The finished runs of two variants of unequal size, at least one each, whichever of them is the larger."""
    larger, smaller = sorted((one, other), key=_size, reverse=True)
    mine, theirs = larger[0].parameters, smaller[0].parameters
    found = contrast(larger, smaller, split, lambda run, split: None)
    bought, interval, reason = _bought(found)
    persistent, no_persistent = _persistent(larger[0], smaller[0])
    flops = mine.flops_per_token - theirs.flops_per_token
    speeds = tokens_per_second(larger), tokens_per_second(smaller)
    return Purchase(
        larger=larger[0].variant,
        smaller=smaller[0].variant,
        spent_on=spent,
        parameters=mine.total - theirs.total,
        parameters_percent=100 * (mine.total - theirs.total) / theirs.total,
        optimizer=_optimizer(larger[0], smaller[0]),
        persistent_bytes=persistent,
        persistent_reason=no_persistent,
        flops_per_token=flops,
        flops_percent=100 * flops / theirs.flops_per_token,
        tokens_per_second_percent=100 * (speeds[0] / speeds[1] - 1) if speeds[0] and speeds[1] else None,
        split=split,
        bought=bought,
        bought_ci95=interval,
        bought_reason=reason,
        num_seeds=found.num_seeds,
    )


def _size(runs: Sequence[RunResult]) -> int:
    return runs[0].parameters.total


def _bought(found: Difference) -> tuple[float | None, tuple[float, float] | None, str | None]:
    """The difference with its sign turned: what is saved counts."""
    if found.num_seeds == 0:
        return None, None, "no seed has finished in both"
    if found.mean is None:
        return None, None, "they did not score the same tokens"
    if found.pairing.level == "none":
        return None, None, f"the runs are not pairs ({'; '.join(found.pairing.reasons)})"
    if found.ci95_seeds is None:
        return -found.mean, None, "one seed has no spread"
    low, high = found.ci95_seeds
    return -found.mean, (-high, -low), None


def _persistent(larger: RunResult, smaller: RunResult) -> tuple[int | None, str | None]:
    predicted = [run.memory.predicted for run in (larger, smaller)]
    sizes = [footprint.persistent_bytes for footprint in predicted if footprint and footprint.persistent_bytes]
    if len(sizes) < 2:
        return None, "it was not predicted for both"
    return sizes[0] - sizes[1], None


def _optimizer(larger: RunResult, smaller: RunResult) -> str | None:
    """The one optimizer of both."""
    names = {_training(run).get("optimizer") for run in (larger, smaller)}
    return names.pop() if len(names) == 1 else None


def _training(run: RunResult) -> dict[str, Any]:
    training: dict[str, Any] = run.config.get("training", {})
    return training
