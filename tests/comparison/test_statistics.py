"""Means, spreads and intervals over seeds."""

import math
import random
import subprocess
import sys

import pytest
from scipy import stats

from tiedlm.comparison.statistics import correlation, mean, paired_difference, sample_sd, t_interval, unpaired_interval


def test_mean_and_sample_deviation_of_a_hand_computed_case() -> None:
    assert mean([2.0, 4.0, 9.0]) == 5.0
    assert sample_sd([2.0, 4.0, 9.0]) == pytest.approx(math.sqrt((9 + 1 + 16) / 2))


def test_interval_of_a_hand_computed_case() -> None:
    """Differences 1, 2, 3: mean 2, deviation 1; the quantile of t with 2 degrees is (2p - 1) / sqrt(2p(1 - p))."""
    paired = paired_difference([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    half = 0.95 / math.sqrt(2 * 0.975 * 0.025) / math.sqrt(3)
    assert paired.differences == (1.0, 2.0, 3.0)
    assert paired.mean == 2.0
    assert paired.interval == pytest.approx((2 - half, 2 + half), rel=1e-9)


@pytest.mark.parametrize("num_seeds", [2, 3, 5, 30])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_paired_interval_is_that_of_scipy(num_seeds: int, confidence: float) -> None:
    draw = random.Random(num_seeds)
    baseline = [draw.gauss(4.0, 0.1) for _ in range(num_seeds)]
    values = [base + draw.gauss(-0.01, 0.02) for base in baseline]
    expected = stats.ttest_rel(values, baseline).confidence_interval(confidence)
    paired = paired_difference(values, baseline, confidence)
    assert paired.interval == pytest.approx((expected.low, expected.high), rel=1e-9)


def test_the_interval_turns_round_with_the_order_of_the_two() -> None:
    one, other = [4.0, 4.1, 3.9], [4.2, 4.15, 4.1]
    there, back = paired_difference(one, other).interval, paired_difference(other, one).interval
    assert there is not None
    assert back == pytest.approx((-there[1], -there[0]))


def test_one_seed_has_neither_spread_nor_interval() -> None:
    paired = paired_difference([4.0], [4.5])
    assert paired.mean == -0.5
    assert paired.interval is None
    assert sample_sd([4.0]) is None


def test_equal_values_differ_by_exactly_zero_with_an_interval_of_no_width() -> None:
    paired = paired_difference([4.1, 4.2, 0.3], [4.1, 4.2, 0.3])
    assert (paired.mean, paired.interval) == (0.0, (0.0, 0.0))


def test_unequal_numbers_of_seeds_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        paired_difference([1.0, 2.0], [1.0])


def test_the_95_percent_interval_covers_the_truth_95_times_in_100() -> None:
    """Noise of five seeds around a known difference. Monte Carlo: 4,000 trials have a standard error of 0.34 points."""
    draw, truth, trials = random.Random(0), -0.02, 4_000
    covered = 0
    for _ in range(trials):
        interval = t_interval([draw.gauss(truth, 0.03) for _ in range(5)])
        assert interval is not None
        covered += interval[0] <= truth <= interval[1]
    standard_error = math.sqrt(0.95 * 0.05 / trials)
    assert abs(covered / trials - 0.95) < 4 * standard_error


def test_neither_torch_nor_scipy_is_imported_before_an_interval_is_asked_for() -> None:
    code = (
        "import sys, tiedlm.comparison.comparison, tiedlm.report.formats.terminal, tiedlm.report.formats.markdown;"
        "import tiedlm.report.commands.train;"
        "print([name for name in ('torch', 'scipy', 'numpy', 'datasets') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("num_values", "num_baseline"), [(5, 5), (2, 7), (4, 3)])
def test_the_unpaired_interval_is_welchs_of_scipy(num_values: int, num_baseline: int) -> None:
    draw = random.Random(num_values)
    values = [draw.gauss(4.0, 0.1) for _ in range(num_values)]
    baseline = [draw.gauss(4.1, 0.02) for _ in range(num_baseline)]
    expected = stats.ttest_ind(values, baseline, equal_var=False).confidence_interval(0.95)
    assert unpaired_interval(values, baseline) == pytest.approx((expected.low, expected.high), rel=1e-9)


def test_an_unpaired_interval_needs_two_of_each_and_has_no_width_without_spread() -> None:
    assert unpaired_interval([4.0], [4.0, 4.1]) is None
    assert unpaired_interval([4.0, 4.1], [4.0]) is None
    assert unpaired_interval([4.5, 4.5], [4.0, 4.0, 4.0]) == (0.5, 0.5)


def test_correlation_is_that_of_scipy_and_none_where_nothing_varies() -> None:
    draw = random.Random(0)
    one = [draw.gauss(4.0, 0.1) for _ in range(6)]
    other = [value + draw.gauss(0, 0.05) for value in one]
    assert correlation(one, other) == pytest.approx(stats.pearsonr(one, other).statistic, rel=1e-9)
    assert correlation(one, [2 * value - 7 for value in one]) == pytest.approx(1.0, abs=1e-12)
    assert correlation(one, [-value for value in one]) == pytest.approx(-1.0, abs=1e-12)
    assert correlation(one, [3.0] * 6) is None


def test_an_added_variance_widens_the_interval_of_the_mean_also_where_nothing_else_varies() -> None:
    low, high = t_interval([1.0, 2.0, 3.0], added=1.0) or (0, 0)
    assert (high - low) / 2 == pytest.approx(4.302652730 * math.sqrt(1 / 3 + 1))
    assert t_interval([2.0, 2.0, 2.0], added=1.0) == pytest.approx((2 - 4.302652730, 2 + 4.302652730))
