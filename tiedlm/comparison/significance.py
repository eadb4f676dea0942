"""Is a mean difference other than 0, is it within a size, and how many seeds would tell. Scipy on first use only.

Every test is of Student's t: the differences are independent from seed to seed and roughly normal. `added` is a
variance that their mean has beside the one that they show.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from tiedlm.comparison.statistics import Interval, mean, sample_sd

if TYPE_CHECKING:
    import numpy as np

LEVEL = 0.05
POWER = 0.8
_SPREAD_CONFIDENCE = 0.8  # each end of the range is passed by the truth one time in ten
_NUM_SPREADS = 128  # nodes of an average over spreads: right to 0.001


def p_of_difference(differences: Sequence[float], added: float = 0.0) -> float | None:
    """Two-sided p-value of a mean of 0; below 0.05 exactly where the 95 % interval excludes 0. Null without spread."""
    error = _standard_error(differences, added)
    if error is None:
        return None
    return 2 * _t_below(len(differences) - 1, -abs(mean(differences)) / error)


def p_of_equality(differences: Sequence[float], size: float, added: float = 0.0) -> float | None:
    """The larger p-value of the two one-sided tests that the mean is beyond -size and beyond +size (Schuirmann 1987).

    Below 0.05 exactly where the 90 % interval lies inside (-size, +size). Null without spread.
    """
    error = _standard_error(differences, added)
    if error is None:
        return None
    return _t_below(len(differences) - 1, (abs(mean(differences)) - size) / error)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction (1979) for any wrong rejection in the family, in the order given."""
    corrected = [0.0] * len(p_values)
    reached = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        reached = max(reached, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = reached
    return corrected


def holm_levels(p_values: Sequence[float]) -> list[float]:
    """The level at which Holm's method tests each member, in the order given: 0.05 over those not yet rejected.

    From the first that is not rejected on it stays the same. The interval with this error rate excludes the value
    tested exactly where the corrected p-value is below 0.05.
    """
    levels = [LEVEL] * len(p_values)
    level, goes_on = LEVEL, True
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if goes_on:
            level = LEVEL / (len(p_values) - rank)
            goes_on = p_values[index] < level
        levels[index] = level
    return levels


def sd_interval(sd: float, num_seeds: int, confidence: float = _SPREAD_CONFIDENCE) -> Interval:
    """The chi-square interval of the true standard deviation, given that of a sample of at least two."""
    from scipy.special import chdtri  # the inverse of the upper tail

    degrees, tail = num_seeds - 1, (1 - confidence) / 2
    low, high = (sd * math.sqrt(degrees / float(chdtri(degrees, p))) for p in (tail, 1 - tail))
    return low, high


def power_of_verdict(size: float, sd: float, num_seeds: int, level: float = LEVEL) -> float:
    """How often a true difference of `size`, where smaller ones count as equal, is named a winner in its direction.

    The mean must be beyond what excludes 0 and beyond what counts as equal, and both bounds move with the spread
    observed: the normal probability of the mean, averaged over the chi-square distribution of that spread.
    """
    import numpy as np
    from scipy.special import ndtr, stdtrit

    degrees = num_seeds - 1
    observed = _spreads(degrees)
    beyond_zero, within = stdtrit(degrees, 1 - level / 2) * observed, stdtrit(degrees, 1 - level) * observed
    truth = size / sd * math.sqrt(num_seeds)
    return float(ndtr(truth - np.maximum(beyond_zero, truth - within)).mean())


@lru_cache(maxsize=1024)
def _spreads(degrees: int) -> "np.ndarray":
    """Equally likely sample deviations, in units of the true one."""
    import numpy as np
    from scipy.special import chdtri

    squares: np.ndarray = chdtri(degrees, (np.arange(_NUM_SPREADS) + 0.5) / _NUM_SPREADS) / degrees
    spreads: np.ndarray = np.sqrt(squares)
    return spreads


_MANY_SEEDS = 100_000
"""Beyond it the numbers with a known and with an unknown spread differ by less than one in ten thousand."""


def seeds_for(size: float, sd: float, level: float = LEVEL) -> int:
    """The fewest seeds that find a true difference of `size` with 80 % power, where `sd` is the true spread."""
    from scipy.special import ndtri

    factor = float(ndtri(1 - level / 2) + ndtri(POWER))
    if_known = (factor * sd / size) ** 2  # seeds, were the spread known, which takes fewer
    if if_known > _MANY_SEEDS:
        return math.ceil(if_known)  # so many tell the spread
    num_seeds = max(2, math.ceil(if_known * 0.999))
    while power_of_verdict(size, sd, num_seeds, level) < POWER:
        num_seeds += 1
    return num_seeds


def seeds_needed(
    differences: Sequence[float], size: float, level: float = LEVEL, added: float = 0.0
) -> tuple[int, int] | None:
    """How many seeds, in all and more than there are, would tell a true difference of `size` with 80 % power.

    A range, for the spread of a few seeds is uncertain itself: the ends of its 80 % chi-square interval. Depends on the
    observed spread and not on the observed difference. What is `added` shrinks with the seeds too. Null without spread.
    """
    error = _standard_error(differences, added)
    if error is None:
        return None
    sd = error * math.sqrt(len(differences))
    low, high = (max(seeds_for(size, end, level), len(differences) + 1) for end in sd_interval(sd, len(differences)))
    return low, high


def _standard_error(differences: Sequence[float], added: float) -> float | None:
    """Of the mean; null where all seeds differ by the same amount, as independent runs do not: copies, say."""
    sd = sample_sd(differences) if len(set(differences)) > 1 else None
    return math.sqrt(sd**2 / len(differences) + added) if sd else None


def _t_below(degrees: int, t: float) -> float:
    from scipy.special import stdtr

    return float(stdtr(degrees, t))
