"""Means, spreads and paired differences over seeds. Free of torch; scipy only where an interval is asked for."""

import math
from collections.abc import Sequence
from typing import NamedTuple

Interval = tuple[float, float]


class PairedDifference(NamedTuple):
    """What was measured pair by pair: `differences` in the order given, their mean, and the interval of that mean.

    `interval` is null for a single pair: one difference says nothing of its own spread.
    """

    differences: tuple[float, ...]
    mean: float
    interval: Interval | None


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean of at least one value, summed without rounding on the way."""
    assert values
    return math.fsum(values) / len(values)


def sample_sd(values: Sequence[float]) -> float | None:
    """Sample standard deviation (n - 1 in the denominator); null for a single value."""
    if len(values) < 2:
        return None
    centre = mean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def paired_difference(values: Sequence[float], baseline: Sequence[float], confidence: float = 0.95) -> PairedDifference:
    """values - baseline, pair by pair, with Student's t-interval of the mean difference (n - 1 degrees of freedom)."""
    differences = tuple(value - base for value, base in zip(values, baseline, strict=True))
    return PairedDifference(differences, mean(differences), t_interval(differences, confidence))


def t_interval(values: Sequence[float], confidence: float = 0.95, added: float = 0.0) -> Interval | None:
    """Student's t-interval of the mean of independent, roughly normal values; null for a single value.

    `added` is a variance that the mean has beside the one that the values show.
    """
    sd, centre = sample_sd(values), mean(values)
    if sd is None:
        return None
    if sd == 0 and added == 0:
        return centre, centre
    from scipy.special import stdtrit  # the t quantile alone: a tenth of the import time of scipy.stats

    quantile = float(stdtrit(len(values) - 1, 0.5 + confidence / 2))
    half = quantile * math.sqrt(sd**2 / len(values) + added)
    return centre - half, centre + half


def unpaired_interval(values: Sequence[float], baseline: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Welch's t-interval of the difference of two means of independent samples; null where one has a single value.

    Degrees of freedom by Satterthwaite (1946).
    """
    sds = sample_sd(values), sample_sd(baseline)
    if sds[0] is None or sds[1] is None:
        return None
    shares = sds[0] ** 2 / len(values), sds[1] ** 2 / len(baseline)  # of the variance of the difference
    centre, variance = mean(values) - mean(baseline), sum(shares)
    if variance == 0:
        return centre, centre
    from scipy.special import stdtrit

    degrees = variance**2 / (shares[0] ** 2 / (len(values) - 1) + shares[1] ** 2 / (len(baseline) - 1))
    half = float(stdtrit(degrees, 0.5 + confidence / 2)) * math.sqrt(variance)
    return centre - half, centre + half


def correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Pearson's correlation, pair by pair; null where either does not vary."""
    centres = mean(one), mean(other)
    products = math.fsum((x - centres[0]) * (y - centres[1]) for x, y in zip(one, other, strict=True))
    squares = [
        math.fsum((value - centre) ** 2 for value in values)
        for values, centre in zip((one, other), centres, strict=True)
    ]
    if 0 in squares:
        return None
    return max(-1.0, min(1.0, products / math.sqrt(squares[0] * squares[1])))
