"""Differences of figures over seeds: those of pairs alone have intervals, and all of a variant are one family."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.finished_runs import effective, run_result
from tiedlm.comparison.significance import holm, p_of_difference
from tiedlm.comparison.statistics import t_interval
from tiedlm.embeddings.differences import differences
from tiedlm.embeddings.schema import MeasureDifference
from tiedlm.embeddings.seed_figures import Figure, Place

UNTIED = [1.0, 1.1, 0.9, 1.05]


def found(tied: dict[str, Sequence[float]], **changes: Any) -> list[MeasureDifference]:
    """The differences of figures of tied from those of untied, both with as many seeds as there are values."""
    figures = {
        Place(variant, "input", metric): {seed: Figure(value, None) for seed, value in enumerate(values)}
        for metric, mine in tied.items()
        for variant, values in (("tied", mine), ("untied", UNTIED[: len(mine)]))
    }
    seeds = range(max(map(len, tied.values())))
    results = {
        "tied": [run_result("tied", seed, **changes) for seed in seeds],
        "untied": [run_result("untied", seed) for seed in seeds],
    }
    return list(differences(figures, results, "untied"))


@pytest.mark.parametrize(("by", "verdict"), [(1, "higher"), (-1, "lower")])
def test_a_figure_that_is_larger_in_every_seed_is_higher_and_never_better(by: float, verdict: str) -> None:
    shifts = [0.5, 0.51, 0.49, 0.505]
    (each,) = found({"cka": [base + by * shift for base, shift in zip(UNTIED, shifts, strict=True)]})
    assert each.verdict == verdict and each.pairing == "start+batches" and each.reason is None
    assert each.ci95_seeds == each.ci95_corrected == t_interval(each.per_seed)
    assert each.p_difference == p_of_difference(each.per_seed) and each.num_corrected_for == 1


def test_what_one_figure_tells_alone_it_need_not_tell_among_many() -> None:
    shifts = [0.5, 0.9, 0.2, 0.45]
    values = [base + shift for base, shift in zip(UNTIED, shifts, strict=True)]
    (alone,) = found({"cka": values})
    among = found({f"figure {number}": values for number in range(4)})
    assert alone.verdict == "higher" and {each.verdict for each in among} == {"cannot_tell"}
    p = p_of_difference(alone.per_seed)
    assert p is not None and [each.p_difference for each in among] == holm([p] * 4)
    for each in among:
        assert each.interval is not None and each.interval[0] < 0 < each.interval[1]


def test_what_is_equal_to_the_last_bit_is_no_difference() -> None:
    (each,) = found({"cka": UNTIED})
    assert (each.verdict, each.mean, each.p_difference) == ("no_difference", 0, None)


def test_runs_that_are_no_pairs_have_a_mean_and_no_interval() -> None:
    (each,) = found({"cka": [2.0, 2.1, 1.9, 2.0]}, effective=effective(precision="bf16"))
    assert each.mean == pytest.approx(2.0 - 4.05 / 4)
    assert (each.ci95_seeds, each.ci95_corrected, each.p_difference) == (None, None, None)
    assert each.verdict == "cannot_tell" and each.reason is not None
    assert each.reason.startswith("the runs are not pairs (precision differs")


def test_one_seed_says_nothing_of_a_spread() -> None:
    (each,) = found({"cka": [2.0]})
    assert (each.ci95_seeds, each.verdict, each.reason) == (None, "cannot_tell", "one seed has no spread")
