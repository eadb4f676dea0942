"""What do more parameters cost and buy, and how do variants compare that have equally many? Free of torch."""

from collections.abc import Sequence
from typing import Any

from tiedlm.comparison.analyses.analysis import Analysis
from tiedlm.comparison.contrast import Difference, contrast
from tiedlm.comparison.equal_parameters import AtEqualParameters, compare_at_equal_parameters
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.matched_bodies import Spending, SpentOn, in_order, matched_variants
from tiedlm.comparison.variant_summary import tokens_per_second
from tiedlm.config.base import Config
from tiedlm.experiment.sizes import TOLERANCE
from tiedlm.run.result import RunResult


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


class BreakEven(Config):
    """The larger of a variant and the baseline against the smaller, and what as many parameters buy in a body."""

    variant: str
    baseline: str
    outright: Purchase
    in_body: list[Purchase]


class Budget(Config):
    """Of every variant with another count than the baseline; `equal_parameters` of those whose bodies were matched."""

    split: str
    break_even: list[BreakEven]
    equal_parameters: list[AtEqualParameters]


def measure(finished: FinishedRuns) -> Budget | None:
    """None where all variants have the baseline's count of parameters, or the baseline has not finished."""
    split = finished.deciding_split()
    if not finished.baseline_runs or split is None:
        return None
    total = _total(finished.baseline_runs)
    break_even = [
        _break_even(finished, variant, split)
        for variant, runs in finished.by_variant.items()
        if finished.added(variant) is None and _total(runs) != total
    ]
    equal = compare_at_equal_parameters(finished, split)
    return Budget(split=split, break_even=break_even, equal_parameters=equal) if break_even or equal else None


def _break_even(finished: FinishedRuns, variant: str, split: str) -> BreakEven:
    baseline, runs = finished.baseline, finished.by_variant
    in_body = [*_in_body(finished, variant, baseline, split), *_in_body(finished, baseline, variant, split)]
    return BreakEven(
        variant=variant,
        baseline=baseline,
        outright=_purchase(runs[variant], runs[baseline], "itself", split),
        in_body=in_order(in_body),
    )


def _in_body(finished: FinishedRuns, variant: str, other: str, split: str) -> list[Purchase]:
    """The variant against itself with a body that makes it as large as the other one."""
    runs, total = finished.by_variant, _total(finished.by_variant[other])
    return [
        _purchase(runs[matched.name], runs[variant], matched.spent_on, split)
        for matched in matched_variants(finished)
        if matched.of == variant and abs(_total(runs[matched.name]) - total) <= TOLERANCE * total
    ]


def _purchase(one: Sequence[RunResult], other: Sequence[RunResult], spent: SpentOn, split: str) -> Purchase:
    """The finished runs of two variants of unequal size, at least one each, whichever of them is the larger."""
    larger, smaller = sorted((one, other), key=_total, reverse=True)
    mine, theirs = larger[0].parameters, smaller[0].parameters
    difference = contrast(larger, smaller, split)
    bought, interval, reason = _bought(difference)
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
        num_seeds=difference.num_seeds,
    )


def _total(runs: Sequence[RunResult]) -> int:
    return runs[0].parameters.total


def _bought(difference: Difference) -> tuple[float | None, tuple[float, float] | None, str | None]:
    """The difference with its sign turned: what is saved counts."""
    if difference.num_seeds == 0:
        return None, None, "no seed has finished in both"
    if difference.mean is None:
        return None, None, "they did not score the same tokens"
    if difference.pairing.level == "none":
        return None, None, f"the runs are not pairs ({'; '.join(difference.pairing.reasons)})"
    if difference.ci95_seeds is None:
        return -difference.mean, None, "one seed has no spread"
    low, high = difference.ci95_seeds
    return -difference.mean, (-high, -low), None


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


ANALYSIS = Analysis("budget", Budget, measure)
