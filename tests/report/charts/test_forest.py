"""The forest plot: every recipe with its interval and a shape for its verdict, then across them, then best."""

import pytest

from tests.support.parts_documents import RECIPES, recipes_comparison
from tiedlm.report.charts.chart import Estimate, IntervalChart
from tiedlm.report.charts.forest import MARKS, forest_charts


def estimates_of(chart: IntervalChart) -> dict[str, Estimate]:
    return {estimate.name: estimate for estimate in chart.estimates}


def test_each_recipe_is_a_row_in_order_then_the_mean_then_the_best() -> None:
    document = recipes_comparison()
    (chart,) = forest_charts(document)
    assert document.recipes is not None
    assert [estimate.name for estimate in chart.estimates] == [*RECIPES, "mean", "best"]
    found = estimates_of(chart)
    for within in document.recipes.within:
        estimate = found[within.recipe]
        assert (estimate.middle, estimate.interval) == (within.mean, within.ci95_seeds)
        assert estimate.singles == tuple(within.per_seed)
        assert estimate.mark == MARKS[within.verdict]
        assert estimate.words.endswith(within.verdict), "in words, and not by shape or colour alone"
    (across,), mean = document.recipes.across, found["mean"]
    assert (mean.middle, mean.interval, mean.whiskers) == (across.mean, across.ci95, across.prediction95)
    assert mean.mark == "diamond"
    assert "below 0 under 5 (4 judged better), above 0 under 1 (1 judged worse)" in mean.group
    (best,) = document.recipes.best_against_best
    assert (found["best"].middle, found["best"].interval) == (best.mean, best.ci95_seeds)
    assert "tied under plain, untied under long-warmup" in found["best"].group


def test_the_sides_of_zero_say_whom_they_favour_and_each_variant_has_a_chart_of_its_own() -> None:
    charts = list(forest_charts(recipes_comparison(variants=("tied", "soft"))))
    assert [chart.key for chart in charts] == ["recipes", "recipes-2"]
    assert [(chart.below, chart.above) for chart in charts] == [
        ("favours tied", "favours untied"),
        ("favours soft", "favours untied"),
    ]
    assert [{each.place for each in chart.estimates} for chart in charts] == [{0}, {1}], "each in its own colour"


def test_verdicts_of_opposite_direction_point_to_opposite_sides() -> None:
    (chart,) = forest_charts(recipes_comparison())
    found = estimates_of(chart)
    assert (found["plain"].mark, found["sqrt-dim"].mark, found["wide-init"].mark) == ("left", "right", "square")
    (chart,) = forest_charts(recipes_comparison(num_seeds=1))
    assert estimates_of(chart)["plain"].mark == "ring"


def test_a_recipe_without_a_finished_run_keeps_its_row_and_says_why() -> None:
    (chart,) = forest_charts(recipes_comparison(RECIPES | {"new": (None, {})}))
    new = estimates_of(chart)["new"]
    assert (new.middle, new.interval, new.words) == (None, None, "none: no run has finished")
    assert list(forest_charts(recipes_comparison({"new": (None, {})}))) == []


@pytest.mark.parametrize("num_seeds", [1, 2])
def test_without_an_interval_there_is_none(num_seeds: int) -> None:
    (chart,) = forest_charts(recipes_comparison(num_seeds=num_seeds))
    assert (estimates_of(chart)["plain"].interval is None) == (num_seeds == 1)
