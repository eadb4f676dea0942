"""Random effects agree with the published figures of a well-known meta-analysis, and with limiting cases."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from tiedlm.comparison.parts.random_effects import RandomEffects, reml
from tiedlm.comparison.statistics import t_interval

BCG = [
    (4, 119, 11, 128),
    (6, 300, 29, 274),
    (3, 228, 11, 209),
    (62, 13_536, 248, 12_619),
    (33, 5_036, 47, 5_761),
    (180, 1_361, 372, 1_079),
    (8, 2_537, 10, 619),
    (505, 87_886, 499, 87_892),
    (29, 7_470, 45, 7_232),
    (17, 1_699, 65, 1_600),
    (186, 50_448, 141, 27_197),
    (5, 2_493, 3, 2_338),
    (27, 16_886, 29, 17_825),
]
"""Trials of the BCG vaccine (Colditz et al. 1994): ill and well of the vaccinated, ill and well of the others."""


def log_risk_ratios() -> tuple[list[float], list[float]]:
    means = [math.log(ill / (ill + well)) - math.log(ill2 / (ill2 + well2)) for ill, well, ill2, well2 in BCG]
    variances = [1 / ill - 1 / (ill + well) + 1 / ill2 - 1 / (ill2 + well2) for ill, well, ill2, well2 in BCG]
    return means, variances


def test_the_bcg_trials_give_the_published_figures() -> None:
    """Q, and the estimates by REML as metafor prints them; the Knapp-Hartung interval too."""
    means, variances = log_risk_ratios()
    precision = 1 / np.array(variances)
    centre = np.average(means, weights=precision)
    assert precision @ (np.array(means) - centre) ** 2 == pytest.approx(152.233, abs=5e-4), "the published data"
    effects = RandomEffects.of(means, variances)
    assert effects.variance == pytest.approx(0.3132, abs=5e-5)
    assert effects.mean == pytest.approx(-0.7145, abs=5e-5)
    weights = [1 / (variance + effects.variance) for variance in variances]
    assert 1 / math.sqrt(sum(weights)) == pytest.approx(0.1798, abs=5e-5)


def restricted_likelihood(means: np.ndarray, variances: np.ndarray, at: float) -> float:
    """By the determinants of its definition."""
    covariance = np.diag(variances + at)
    inverse = np.linalg.inv(covariance)
    ones = np.ones(len(means))
    information = float(ones @ inverse @ ones)
    residual = means - (ones @ inverse @ means) / information
    return float(-0.5 * (np.linalg.slogdet(covariance)[1] + math.log(information) + residual @ inverse @ residual))


@pytest.mark.parametrize("seed", range(12))
def test_no_other_variance_is_likelier(seed: int) -> None:
    draws = np.random.default_rng(seed)
    variances = draws.gamma(1.0, 1.0, 5) + 0.01
    means = draws.normal(0, 1.5 * (seed % 3), 5) + draws.normal(0, np.sqrt(variances))
    found = reml(means.tolist(), variances.tolist())
    best = minimize_scalar(
        lambda root: -restricted_likelihood(means, variances, root**2), bracket=(0, 1), options={"xtol": 1e-10}
    )
    assert restricted_likelihood(means, variances, found) >= -best.fun - 1e-9


def test_with_equal_variances_it_is_students_t_interval() -> None:
    means = [-0.3, 0.1, 0.25, -0.05, 0.4, 0.02]
    effects = RandomEffects.of(means, [0.01] * 6)
    spread = float(np.var(means, ddof=1))
    assert effects.variance == pytest.approx(spread - 0.01, rel=1e-9)
    assert effects.interval() == pytest.approx(t_interval(means), rel=1e-9)
    low, high = effects.prediction(0.01)
    scale = math.sqrt(spread * (1 + 1 / 6))
    assert (high - low) / 2 == pytest.approx(2.570581836 * scale, rel=1e-8)


def test_differences_closer_than_their_errors_have_no_spread_of_their_own() -> None:
    effects = RandomEffects.of([0.1, 0.11, 0.09], [1.0, 2.0, 1.5])
    assert effects.between == 0
    low, high = effects.prediction(1.0)
    assert high - low > 2 * 4.3 * 1.0


def test_without_errors_the_spread_is_that_of_the_differences() -> None:
    effects = RandomEffects.of([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
    assert (effects.mean, effects.variance) == (2.0, 1.0)
    assert effects.prediction() == pytest.approx(
        (2 - 4.302652730 * math.sqrt(4 / 3), 2 + 4.302652730 * math.sqrt(4 / 3))
    )
    same = RandomEffects.of([0.5, 0.5], [0.0, 0.0])
    assert (same.mean, same.interval(), same.prediction()) == (0.5, (0.5, 0.5), (0.5, 0.5))
