"""Two-sided tests of a family of paired differences, Holm-corrected for their number. Free of torch."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from tiedlm.comparison.significance import LEVEL, holm, holm_levels, p_of_difference
from tiedlm.comparison.statistics import Interval, t_interval

Member = TypeVar("Member")


class Tested(NamedTuple):
    """The corrected p-value of a mean of 0, and the interval that excludes 0 exactly where it is below 0.05."""

    p: float
    interval: Interval | None
    num_corrected_for: int

    @property
    def is_told(self) -> bool:
        """Whether the mean is not 0."""
        return self.p < LEVEL


def judge_family(per_seed: Mapping[Member, Sequence[float]]) -> dict[Member, Tested]:
    """For each member that can be tested: of at least two seeds that do not all differ by the same amount."""
    p_values = {member: p for member, values in per_seed.items() if (p := p_of_difference(values)) is not None}
    found = [*p_values.values()]
    corrected = zip(p_values, holm(found), holm_levels(found), strict=True)
    return {member: Tested(p, t_interval(per_seed[member], 1 - level), len(found)) for member, p, level in corrected}
