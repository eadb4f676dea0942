"""Scales and their ticks."""

import pytest

from tiedlm.report.charts.scale import Scale, decimals_for


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-0.0312, 0.0047), (3.9, 4.1), (0, 103_227_021), (1e-9, 2e-9)])
@pytest.mark.parametrize("at_most", [3, 5, 7])
def test_ticks_are_round_within_the_range_and_not_too_many(low: float, high: float, at_most: int) -> None:
    ticks = Scale(low, high, 0, 100).ticks(at_most)
    assert 1 <= len(ticks) <= at_most
    assert all(low - 1e-9 * (high - low) <= tick <= high + 1e-9 * (high - low) for tick in ticks)
    assert len({f"{tick:.{decimals_for(ticks, 12)}f}" for tick in ticks}) == len(ticks)
    if len(ticks) > 1:
        step = f"{ticks[1] - ticks[0]:.0e}"
        assert step[0] in "125"


def test_a_scale_is_a_proportion() -> None:
    scale = Scale(2, 4, 100, 300)
    assert [scale(value) for value in (2, 3, 4, 5)] == [100, 200, 300, 400]
    assert Scale.over([5, 5], 0, 10).low < 5 < Scale.over([5, 5], 0, 10).high
