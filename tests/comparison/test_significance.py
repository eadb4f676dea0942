"""Tests of a mean difference, Holm's correction, and numbers of seeds, against scipy's references."""

import itertools
import math
import random

import pytest
from scipy import stats

from tiedlm.comparison.significance import (
    holm,
    p_of_difference,
    p_of_equality,
    power_of_verdict,
    sd_interval,
    seeds_for,
    seeds_needed,
)
from tiedlm.comparison.statistics import sample_sd, t_interval


def some_differences(num_seeds: int, centre: float = -0.004, sd: float = 0.01) -> list[float]:
    draw = random.Random(num_seeds)
    return [draw.gauss(centre, sd) for _ in range(num_seeds)]


@pytest.mark.parametrize("num_seeds", [2, 3, 5, 30])
def test_the_p_value_of_a_difference_is_that_of_scipys_t_test(num_seeds: int) -> None:
    differences = some_differences(num_seeds)
    assert p_of_difference(differences) == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, rel=1e-9)


@pytest.mark.parametrize("num_seeds", [2, 3, 5, 30])
def test_the_p_value_of_equality_is_the_larger_of_scipys_one_sided_tests(num_seeds: int) -> None:
    differences, size = some_differences(num_seeds), 0.01
    above = stats.ttest_1samp(differences, -size, alternative="greater").pvalue
    below = stats.ttest_1samp(differences, size, alternative="less").pvalue
    assert p_of_equality(differences, size) == pytest.approx(max(above, below), rel=1e-9)


def test_the_tests_and_the_intervals_say_the_same() -> None:
    draw = random.Random(0)
    seen = set()
    for _ in range(500):
        differences = [draw.gauss(draw.choice((0, 0.01)), 0.01) for _ in range(draw.choice((3, 6, 20)))]
        wide, narrow = t_interval(differences), t_interval(differences, 0.9)
        p_zero, p_equal = p_of_difference(differences), p_of_equality(differences, 0.01)
        assert wide and narrow and p_zero is not None and p_equal is not None
        assert (p_zero < 0.05) == (not wide[0] <= 0 <= wide[1])
        assert (p_equal < 0.05) == (narrow[0] > -0.01 and narrow[1] < 0.01)
        seen.add((p_zero < 0.05, p_equal < 0.05))
    assert seen == set(itertools.product((True, False), repeat=2)), "both may hold, either, or neither"


def test_without_a_spread_nothing_is_tested() -> None:
    for differences in ([0.1], [0.1, 0.1, 0.1], [0.0, 0.0]):
        assert p_of_difference(differences) is None
        assert p_of_equality(differences, 1.0) is None
        assert seeds_needed(differences, 0.01) is None


def test_holm_on_a_case_worked_by_hand() -> None:
    """Sorted 0.01, 0.02, 0.03, 0.04 times 4, 3, 2, 1, and never falling."""
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


def test_holm_rejects_what_its_step_down_rule_rejects() -> None:
    draw = random.Random(1)
    for _ in range(200):
        p_values = [draw.random() ** 4 for _ in range(5)]
        rejected = set()
        for rank, index in enumerate(sorted(range(5), key=p_values.__getitem__)):
            if p_values[index] > 0.05 / (5 - rank):
                break
            rejected.add(index)
        assert {index for index, p in enumerate(holm(p_values)) if p <= 0.05} == rejected


@pytest.mark.parametrize("num_seeds", [2, 5, 40])
def test_the_interval_of_a_spread_is_that_of_the_chi_square_distribution(num_seeds: int) -> None:
    low, high = sd_interval(0.3, num_seeds, 0.8)
    degrees = num_seeds - 1
    assert low == pytest.approx(0.3 * math.sqrt(degrees / stats.chi2.ppf(0.9, degrees)), rel=1e-9)
    assert high == pytest.approx(0.3 * math.sqrt(degrees / stats.chi2.ppf(0.1, degrees)), rel=1e-9)


@pytest.mark.parametrize(("num_seeds", "size"), [(2, 0.2), (4, 0.5), (10, 0.7), (50, 0.4), (2_000, 0.05)])
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_the_power_is_that_of_the_noncentral_t_distribution_where_equality_is_out_of_reach(
    num_seeds: int, size: float, level: float
) -> None:
    """And below it elsewhere: what could be told from 0 may also be too small to matter."""
    degrees, shift = num_seeds - 1, size * math.sqrt(num_seeds)
    expected = stats.nct.sf(stats.t.ppf(1 - level / 2, degrees), degrees, shift)
    found = power_of_verdict(size, 1.0, num_seeds, level)
    assert found <= expected + 0.001
    likely_error = math.sqrt(stats.chi2.ppf(0.001, degrees) / degrees)
    if likely_error * (stats.t.ppf(1 - level / 2, degrees) + stats.t.ppf(1 - level, degrees)) > shift:
        assert found == pytest.approx(expected, abs=0.002)


@pytest.mark.parametrize("ratio", [0.05, 0.3, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("level", [0.05, 0.0125])
def test_the_seeds_for_a_size_are_the_fewest_with_four_fifths_power(ratio: float, level: float) -> None:
    needed = seeds_for(ratio, 1.0, level)
    assert power_of_verdict(ratio, 1.0, needed, level) >= 0.8
    assert needed == 2 or power_of_verdict(ratio, 1.0, needed - 1, level) < 0.8


def test_a_textbook_number_of_seeds() -> None:
    """Cohen (1988): a paired effect of half a standard deviation, two-sided 5 %, 80 % power: 34 pairs."""
    assert seeds_for(0.5, 1.0) == 34


def test_the_seeds_for_a_size_far_below_the_spread_are_a_number_at_once() -> None:
    """Of runs that went astray, with finite losses of millions of nats."""
    below, above = seeds_for(1.0, 112.8), seeds_for(1.0, 113.0)
    assert below < 100_000 < above and (above - below) / below == pytest.approx((113.0 / 112.8) ** 2 - 1, abs=1e-4)
    assert seeds_for(0.01, 1e7) == pytest.approx(seeds_for(0.01, 1e6) * 100, rel=1e-9)
    assert seeds_for(0.01, 1e30) > 1e60


def test_the_range_depends_on_the_spread_and_the_size_and_not_on_what_was_observed() -> None:
    differences = some_differences(5)
    moved = [difference + 0.5 for difference in differences]
    found = seeds_needed(differences, 0.01)
    assert found == seeds_needed(moved, 0.01)
    assert found is not None and found[0] < found[1]
    smaller = seeds_needed(differences, 0.005)
    assert smaller is not None and smaller[0] > found[0] and smaller[1] > found[1]
    sd = sample_sd(differences)
    assert sd is not None and found[0] <= seeds_for(0.01, sd) <= found[1]


def test_the_range_is_above_what_there_is() -> None:
    assert seeds_needed(some_differences(30, sd=1e-6), 0.01) == (31, 31)


def test_with_an_added_variance_the_p_values_go_with_the_wider_interval() -> None:
    differences = [0.05, 0.07, 0.03, 0.06]
    for added in (0.0, 1e-4, 1e-3, 1e-2):
        interval = t_interval(differences, added=added)
        narrower = t_interval(differences, 0.9, added=added)
        assert interval is not None and narrower is not None
        p, q = p_of_difference(differences, added), p_of_equality(differences, 0.08, added)
        assert p is not None and q is not None
        assert (p < 0.05) == (interval[0] > 0)
        assert (q < 0.05) == (narrower[1] < 0.08)
    plain, more = seeds_needed(differences, 0.01), seeds_needed(differences, 0.01, added=1e-3)
    assert plain is not None and more is not None and more[0] > plain[1]
