"""The chart of differences to the baseline."""

from tests.support.finished_runs import example_comparison
from tiedlm.report.charts.chart import Band
from tiedlm.report.charts.differences import difference_chart


def test_a_difference_is_shown_over_seeds_and_over_documents() -> None:
    comparison = example_comparison()
    update = {"ci95_text": (-0.04, -0.02), "num_documents": 60}
    differences = [found.model_copy(update=update) for found in comparison.differences]
    chart = difference_chart(comparison.model_copy(update={"differences": differences}))
    assert chart is not None
    over = {estimate.name: estimate.interval for estimate in chart.estimates}
    assert over["tied, test"] == comparison.differences[0].ci95_seeds
    assert over["tied, test, over 60 documents"] == (-0.04, -0.02)
    assert "tied, validation, over 60 documents" not in over


def test_bands_stand_beside_that_of_differences_too_small_to_matter() -> None:
    chart = difference_chart(example_comparison(), [Band("noise", -0.3, 0.3)])
    assert chart is not None
    assert [(band.low, band.high) for band in chart.bands] == [(-0.01, 0.01), (-0.3, 0.3)]
    assert chart.bands[0].name == "within ±0.01: too small to matter"


def test_the_side_of_zero_says_whom_it_favours() -> None:
    chart = difference_chart(example_comparison())
    assert chart is not None
    assert (chart.below, chart.above) == ("favours the variant", "favours untied")
    assert all((estimate.middle or 0) < 0 for estimate in chart.estimates), "tied is better in the example"
