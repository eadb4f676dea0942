"""The mean of several measured differences whose true values differ: random effects by REML. Free of torch.

Each of k differences is measured with a variance of its own, and their true values are normal around a mean. Scipy is
imported on first use.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tiedlm.comparison.statistics import Interval, sample_sd

_MAX_STEPS = 1_000
_PRECISION = 1e-13
"""Of the variance, relative to the spread of the differences."""


@dataclass(frozen=True)
class RandomEffects:
    """The mean of at least two differences `means` with the `variances` with which they were measured.

    `variance` is that of the true values, estimated by restricted maximum likelihood (Harville 1977), at least 0.
    """

    means: tuple[float, ...]
    variances: tuple[float, ...]
    variance: float

    @classmethod
    def of(cls, means: Sequence[float], variances: Sequence[float]) -> "RandomEffects":
        """Estimate; the variances are all above 0, or all 0."""
        assert len(means) == len(variances) > 1
        assert all(variance > 0 for variance in variances) or not any(variances)
        return cls(tuple(means), tuple(variances), reml(means, variances))

    @property
    def between(self) -> float:
        """Standard deviation of the true values."""
        return math.sqrt(self.variance)

    @cached_property
    def mean(self) -> float:
        """Of the true values: the differences weighted by the inverse of their variance."""
        weights = _weights(self.variances, self.variance)
        return math.fsum(weight * mean for weight, mean in zip(weights, self.means, strict=True)) / math.fsum(weights)

    @cached_property
    def error(self) -> float:
        """Standard error of the mean by Knapp & Hartung (2003): from the spread of the differences around it."""
        weights = _weights(self.variances, self.variance)
        spread = math.fsum(
            weight * (mean - self.mean) ** 2 for weight, mean in zip(weights, self.means, strict=True)
        ) / (len(self.means) - 1)
        return math.sqrt(spread / math.fsum(weights))

    def interval(self, confidence: float = 0.95) -> Interval:
        """Of the mean: mean +- t_{k-1} error; with equal variances it is Student's t-interval of the differences."""
        return self._around(self.error, confidence)

    def prediction(self, new_variance: float = 0.0, confidence: float = 0.95) -> Interval:
        """In which one more difference lies that is measured with `new_variance` (0: its true value).

        mean +- t_{k-1} sqrt(variance + new_variance + error^2). With 0 and k - 2 degrees of freedom it is the interval
        of Higgins, Thompson & Spiegelhalter (2009), with 0 and k - 1 that of IntHout et al. (2016). Both forget that
        the variance is itself estimated, often as 0: with 6 differences whose true values have a third to all of the
        spread of one measurement, they hold the next in 86 to 93 of 100 cases (simulated, as in
        scripts/bench_recipes). With the variance of a measurement as large as those in hand, and all of these equal,
        k - 1 is exact whatever the spread of the true values, for the next difference is one more draw of the same
        distribution; its true value then lies inside in at least 95 of 100.
        """
        return self._around(math.sqrt(self.variance + new_variance + self.error**2), confidence)

    def _around(self, scale: float, confidence: float) -> Interval:
        from scipy.special import stdtrit

        half = float(stdtrit(len(self.means) - 1, 0.5 + confidence / 2)) * scale
        return self.mean - half, self.mean + half


def reml(means: Sequence[float], variances: Sequence[float]) -> float:
    """The variance of the true values that has the greatest restricted likelihood, at least 0.

    By Fisher scoring (Viechtbauer 2005, eq. 12), with steps that are halved where they would lower the likelihood.
    """
    sd = sample_sd(means)
    assert sd is not None
    start = max(0.0, sd**2 - math.fsum(variances) / len(variances))
    if not any(variances) or sd == 0:
        return start
    at = start
    for _ in range(_MAX_STEPS):
        step = _scoring_step(means, variances, at)
        reached = max(0.0, at + step)
        while _likelihood(means, variances, reached) < _likelihood(means, variances, at):
            reached = (reached + at) / 2
            if abs(reached - at) <= _PRECISION * sd**2:
                return at
        if abs(reached - at) <= _PRECISION * sd**2:
            return reached
        at = reached
    return at


def _scoring_step(means: Sequence[float], variances: Sequence[float], at: float) -> float:
    """(y'PPy - tr P) / tr PP, with P = W - W 1 1' W / (1' W 1)."""
    weights = _weights(variances, at)
    total, squares, cubes = (math.fsum(weight**power for weight in weights) for power in (1, 2, 3))
    centre = math.fsum(weight * mean for weight, mean in zip(weights, means, strict=True)) / total
    residual = math.fsum((weight * (mean - centre)) ** 2 for weight, mean in zip(weights, means, strict=True))
    return (residual - (total - squares / total)) / (squares - 2 * cubes / total + (squares / total) ** 2)


def _likelihood(means: Sequence[float], variances: Sequence[float], at: float) -> float:
    """Twice the logarithm of the restricted likelihood, up to a constant."""
    weights = _weights(variances, at)
    total = math.fsum(weights)
    centre = math.fsum(weight * mean for weight, mean in zip(weights, means, strict=True)) / total
    residual = math.fsum(weight * (mean - centre) ** 2 for weight, mean in zip(weights, means, strict=True))
    return math.fsum(map(math.log, weights)) - math.log(total) - residual


def _weights(variances: Sequence[float], variance: float) -> list[float]:
    """1 / (variance of a measurement + variance of the true values); equal where nothing varies at all."""
    sums = [own + variance for own in variances]
    return [1 / each for each in sums] if all(sums) else [1.0] * len(sums)
