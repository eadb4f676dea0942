"""The section on the losses while training."""

import pytest

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, curve, example_comparison, runs, summarize
from tiedlm.comparison.comparison import Comparison
from tiedlm.report.charts.chart import CurveChart
from tiedlm.report.sections.training_curves import SECTION


def charts_of(comparison: Comparison) -> list[CurveChart]:
    charts = list(SECTION.charts(comparison))
    assert all(isinstance(chart, CurveChart) for chart in charts)
    return [chart for chart in charts if isinstance(chart, CurveChart)]


def curved() -> list[CurveChart]:
    results = [
        run.model_copy(update={"validation_curve": curve(run)})
        for run in (*runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS))
    ]
    return charts_of(summarize(results, [], "example", "untied", ["tied", "untied"]))


def test_a_curve_is_the_mean_over_seeds_in_a_band_from_the_least_to_the_most() -> None:
    by_tokens, by_seconds, difference = curved()
    tied = by_tokens.curves[0]
    last = [nats + 0.05 for nats in TIED_NATS]
    assert tied.samples[-1].mean == pytest.approx(sum(last) / 5)
    assert (tied.samples[-1].low, tied.samples[-1].high) == pytest.approx((min(last), max(last)))
    assert tied.samples[-1].x == 100_007_936
    assert by_seconds.curves[0].samples[-1].x == pytest.approx(1_002), "the mean of 1,000 to 1,004"
    assert [curve.name for curve in difference.curves] == ["tied"]
    gaps = [mine - theirs for mine, theirs in zip(TIED_NATS, UNTIED_NATS, strict=True)]
    assert difference.curves[0].samples[0].mean == pytest.approx(sum(gaps) / 5)
    assert difference.curves[0].samples[0].high == pytest.approx(max(gaps)), "paired by seed"


def test_only_steps_at_which_every_seed_was_validated_are_drawn() -> None:
    (first, *others) = runs("tied", TIED_NATS)
    results = [first.model_copy(update={"validation_curve": curve(first, 8)})]
    results += [run.model_copy(update={"validation_curve": curve(run, 4)}) for run in others]
    (by_tokens, _) = charts_of(summarize(results, [], "example", "untied", ["tied"]))
    assert len(by_tokens.curves[0].samples) == 4


def test_without_validations_on_the_way_there_is_no_chart() -> None:
    assert charts_of(example_comparison()) == []
    results = [run.model_copy(update={"validation_curve": curve(run, 1)}) for run in runs("tied", TIED_NATS)]
    assert charts_of(summarize(results, [], "example", "tied", ["tied"])) == [], "one point is no curve"
