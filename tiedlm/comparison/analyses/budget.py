"""What more parameters cost and buy, and how variants compare when they have equally many. Free of torch."""

from collections.abc import Mapping, Sequence

from tiedlm.comparison.analyses.equal_parameters import AtEqualParameters, compare_at_equal_parameters
from tiedlm.comparison.analyses.purchase import Purchase, in_order, matched_of, purchase, spent_on
from tiedlm.comparison.contrast import Difference
from tiedlm.config.base import Config
from tiedlm.experiment.sizes import TOLERANCE
from tiedlm.run.result import RunResult


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


def weigh(
    runs: Mapping[str, Sequence[RunResult]],
    baseline: str,
    measured: Mapping[str, Sequence[Difference]],
    smallest_worthwhile: float,
) -> Budget | None:
    """The budget of finished runs by variant; null where all variants have the baseline's count, or it has no runs.

    `measured` are the differences of every variant to the baseline.
    """
    split = _deciding_split(runs)
    if baseline not in runs or split is None:
        return None
    total = runs[baseline][0].parameters.total
    break_even = [
        BreakEven(
            variant=variant,
            baseline=baseline,
            outright=purchase(own, runs[baseline], "itself", split),
            in_body=in_order([*_in_body(runs, variant, baseline, split), *_in_body(runs, baseline, variant, split)]),
        )
        for variant, own in runs.items()
        if not own[0].config.get("added") and own[0].parameters.total != total
    ]
    equal = compare_at_equal_parameters(runs, baseline, split, measured, smallest_worthwhile)
    return Budget(split=split, break_even=break_even, equal_parameters=equal) if break_even or equal else None


def _in_body(runs: Mapping[str, Sequence[RunResult]], variant: str, other: str, split: str) -> list[Purchase]:
    """The variant against itself with a body that makes it as large as the other one."""
    total = runs[other][0].parameters.total
    return [
        purchase(own, runs[variant], spent_on(own[0]), split)
        for own in runs.values()
        if matched_of(own[0]) == variant and abs(own[0].parameters.total - total) <= TOLERANCE * total
    ]


def _deciding_split(runs: Mapping[str, Sequence[RunResult]]) -> str | None:
    every = [run for own in runs.values() for run in own]
    return next((split for split in ("test", "validation") if all(split in run.splits for run in every)), None)
