"""The chart of differences over the tokens of training."""

import math

import pytest

from tests.support.parts_documents import budgets_comparison, recipes_comparison
from tiedlm.report.charts.budgets import charts_of_parts, interval_charts, trend_chart


def test_each_budget_is_a_point_with_its_interval_at_its_tokens() -> None:
    document = budgets_comparison()
    chart = trend_chart(document)
    assert chart is not None and document.budgets is not None
    (trend,), (line,) = document.budgets.trends, chart.trends
    assert [point.x for point in line.points] == [at.tokens_seen for at in trend.at] == chart.places
    assert [(point.middle, point.interval) for point in line.points] == [(at.mean, at.ci95_seeds) for at in trend.at]
    assert [point.mark for point in line.points] == ["down", "down", "down", "square"]
    assert [chart.x_words(place) for place in chart.places] == ["50M", "100M", "200M", "400M"]


def test_the_line_rises_by_the_slope_for_each_doubling_and_is_that_of_least_squares() -> None:
    document = budgets_comparison()
    chart = trend_chart(document)
    assert chart is not None and document.budgets is not None
    slope, points, ends = document.budgets.trends[0].per_doubling, chart.trends[0].points, chart.trends[0].line
    assert ends is not None and slope is not None
    doublings = [math.log2(point.x / points[0].x) for point in points]
    assert (ends[1] - ends[0]) / doublings[-1] == pytest.approx(slope)
    residuals = [point.middle - ends[0] - slope * far for point, far in zip(points, doublings, strict=True)]
    assert math.fsum(residuals) == pytest.approx(0, abs=1e-12)
    assert math.fsum(far * left for far, left in zip(doublings, residuals, strict=True)) == pytest.approx(0, abs=1e-12)


def test_a_budget_without_a_difference_has_no_point_and_one_point_no_line() -> None:
    chart = trend_chart(budgets_comparison({1: -0.04, 2: -0.03, 4: None}))
    assert chart is not None
    assert len(chart.trends[0].points) == 2
    assert trend_chart(recipes_comparison()) is None


def test_the_charts_of_a_document_are_those_of_its_kind() -> None:
    assert [chart.key for chart in charts_of_parts(recipes_comparison())] == ["recipes"]
    assert [chart.key for chart in charts_of_parts(budgets_comparison())] == ["budgets"]


def test_budgets_stand_under_each_other_where_there_is_no_axis_of_tokens() -> None:
    document = budgets_comparison({1: -0.04, 2: 0.03, 4: None})
    (chart,) = interval_charts(document)
    assert [estimate.name for estimate in chart.estimates] == ["100M tokens", "200M tokens", "400M tokens"]
    assert [estimate.mark for estimate in chart.estimates] == ["left", "right", "ring"]
    assert [estimate.middle is None for estimate in chart.estimates] == [False, False, True]
    assert list(interval_charts(recipes_comparison())) == []
