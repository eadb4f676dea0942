"""Charts as SVG: marks stand where their values are."""

import re
from xml.etree import ElementTree

import pytest

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, curve, example_comparison, runs, summarize
from tiedlm.comparison.analyses.frequency import Bin, BinDifference, Breakdown, Frequency
from tiedlm.comparison.analyses.noise_floor import NoiseFloor
from tiedlm.report.charts.chart import Chart, CurveChart, Estimate, IntervalChart, Stack, StackChart
from tiedlm.report.charts.difference_charts import difference_chart, frequency_charts
from tiedlm.report.charts.drawing import draw
from tiedlm.report.charts.plotted import charts, curve_charts, parameter_chart
from tiedlm.report.charts.scale import Scale, decimals_for

WIDTHS = (326, 500, 900)


def svg(chart: Chart, width: int) -> ElementTree.Element:
    return ElementTree.fromstring(draw(chart, width))


def of_class(drawing: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [each for each in drawing.iter() if name in (each.get("class") or "").split()]


def number(element: ElementTree.Element, name: str) -> float:
    return float(element.get(name) or "nan")


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


def chart_of_intervals(*intervals: tuple[float, float]) -> IntervalChart:
    estimates = (
        Estimate(f"variant {place}", place, "words", (low + high) / 2, (low, high), (low, high))
        for place, (low, high) in enumerate(intervals)
    )
    return IntervalChart("key", "title", "nats", "below", "above", tuple(estimates))


@pytest.mark.parametrize("width", WIDTHS)
def test_an_interval_reaches_from_end_to_end_on_the_axis_of_its_ticks(width: int) -> None:
    drawing = svg(chart_of_intervals((-0.3, 0.1), (0.2, 0.6)), width)
    zero = next(line for line in of_class(drawing, "zero"))
    bars = [line for line in of_class(drawing, "interval") if line.get("x1") != line.get("x2")]
    pixels = (number(bars[0], "x2") - number(bars[0], "x1")) / 0.4
    for bar, (low, high) in zip(bars, ((-0.3, 0.1), (0.2, 0.6)), strict=True):
        assert number(bar, "x1") == pytest.approx(number(zero, "x1") + low * pixels, abs=0.1)
        assert number(bar, "x2") == pytest.approx(number(zero, "x1") + high * pixels, abs=0.1)
    for tick in of_class(drawing, "axis"):
        if re.fullmatch(r"[+-]\d\.\d+", tick.text or ""):
            place = number(zero, "x1") + float(tick.text or "") * pixels
            assert number(tick, "x") == pytest.approx(place, abs=0.1)


def test_a_bar_is_as_long_as_its_parts_and_compares_with_the_others() -> None:
    stacks = (Stack("a", "3", (1.0, 2.0)), Stack("b", "6", (0.0, 6.0)))
    drawing = svg(StackChart("key", "title", ("x", "y"), stacks, written=str), 500)
    widths = [number(part, "width") for part in of_class(drawing, "part")]
    assert widths == pytest.approx([498 / 6, 498 / 3, 498], abs=0.1), "a part of nothing is not drawn"
    starts = [number(part, "x") for part in of_class(drawing, "part")]
    assert starts == pytest.approx([0, 498 / 6, 0], abs=0.1)


def test_the_parts_of_the_parameters_add_up_to_them() -> None:
    comparison = example_comparison()
    chart = parameter_chart(comparison)
    assert chart is not None
    for stack, variant in zip(chart.stacks, comparison.variants, strict=True):
        assert sum(stack.parts) == variant.parameters.total


def curved() -> list[CurveChart]:
    results = [
        run.model_copy(update={"validation_curve": curve(run)})
        for run in (*runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS))
    ]
    return list(curve_charts(summarize(results, [], "example", "untied", ["tied", "untied"])))


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
    (by_tokens, _) = curve_charts(summarize(results, [], "example", "untied", ["tied"]))
    assert len(by_tokens.curves[0].samples) == 4


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["tied", "a-name-of-a-hundred-letters-" + "x" * 72])
def test_no_mark_or_word_leaves_the_drawing(width: int, name: str) -> None:
    results = [*runs(name, TIED_NATS), *runs("untied", UNTIED_NATS)]
    comparison = summarize(results, [], "example", "untied", [name, "untied"])
    for chart in charts(comparison):
        drawing = svg(chart, width)
        height = float((drawing.get("viewBox") or "").split()[3])
        for element in drawing.iter():
            for x in ("x", "x1", "x2", "cx"):
                assert element.get(x) is None or -0.01 <= number(element, x) <= width + 0.01
            for y in ("y", "y1", "y2", "cy"):
                assert element.get(y) is None or -0.01 <= number(element, y) <= height + 0.01


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


def test_differences_are_held_against_the_noise_of_a_run_where_it_was_measured() -> None:
    redrawn = runs("untied+redrawn", (4.05, 4.04, 4.03, 4.05, 4.03))
    added = {"added": {"role": "noise_floor", "of": "untied"}}
    results = [
        *runs("tied", TIED_NATS),
        *runs("untied", UNTIED_NATS),
        *(run.model_copy(update={"config": run.config | added}) for run in redrawn),
    ]
    comparison = summarize(results, [], "example", "untied", ["tied", "untied", "untied+redrawn"])
    chart = difference_chart(comparison)
    assert chart is not None
    floor = comparison.analysis(NoiseFloor)
    assert floor is not None
    noise = floor.noise or 0
    assert [(band.low, band.high) for band in chart.bands] == [(-0.01, 0.01), (-noise, noise)]
    assert {estimate.name for estimate in chart.estimates} == {"tied, test", "tied, validation"}
    assert len(of_class(svg(chart, 900), "shade")) == 2
    assert [stack.name for stack in (parameter_chart(comparison) or pytest.fail()).stacks] == ["tied", "untied"]


def test_each_breakdown_by_frequency_has_a_chart_of_its_bins() -> None:
    def found(label: str, mean: float | None) -> Bin:
        interval = None if mean is None else (mean - 0.01, mean + 0.01)
        difference = BinDifference(variant="tied", mean=mean, ci95_seeds=interval, seeds=[0, 1], per_seed=[0.1, 0.2])
        return Bin(label=label, types=1, tokens=10, share=0.5, documents=3, scores=[], differences=[difference])

    breakdowns = [
        Breakdown(by="target", bins=[found("0", None), found("1-9", 0.25)]),
        Breakdown(by="kind", reason="no"),
    ]
    comparison = example_comparison().model_copy(update={"frequency": Frequency(breakdowns=breakdowns)})
    (chart,) = frequency_charts(comparison)
    assert chart.title == "Difference to untied by how often the target was seen in training"
    ((name, middle, interval),) = [(each.name, each.middle, each.interval) for each in chart.estimates]
    assert (name, middle, interval) == ("1-9", 0.25, (0.24, 0.26)), "a bin without a difference is left out"
    assert list(frequency_charts(example_comparison())) == []
