"""Charts as SVG: marks stand where their values are."""

import itertools
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, runs, summarize
from tests.support.parts_documents import RECIPES, budgets_comparison, recipes_comparison
from tiedlm.report.charts.budgets import charts_of_parts, trend_chart
from tiedlm.report.charts.chart import (
    MOST_MARKED,
    Band,
    Chart,
    Curve,
    CurveChart,
    Estimate,
    IntervalChart,
    Mark,
    Sample,
    Stack,
    StackChart,
)
from tiedlm.report.charts.svg_drawing import draw
from tiedlm.report.sections.all import SECTIONS
from tiedlm.report.sections.section import all_charts

WIDTHS = (326, 500, 900)


def svg(chart: Chart, width: int) -> ElementTree.Element:
    return ElementTree.fromstring(draw(chart, width))


def of_class(drawing: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [each for each in drawing.iter() if name in (each.get("class") or "").split()]


def number(element: ElementTree.Element, name: str) -> float:
    return float(element.get(name) or "nan")


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


def test_each_band_is_shaded_from_end_to_end() -> None:
    chart = replace(chart_of_intervals((-0.3, 0.1)), bands=(Band("one", -0.01, 0.01), Band("two", -0.02, 0.02)))
    narrow, wide = of_class(svg(chart, 900), "shade")
    assert number(wide, "width") == pytest.approx(2 * number(narrow, "width"), abs=0.02)
    assert number(wide, "x") < number(narrow, "x")


def points_of(element: ElementTree.Element) -> list[tuple[float, float]]:
    """The corners of a polygon, or the points of a line."""
    pairs = (pair.split(",") for pair in (element.get("points") or "").split())
    return [(float(x), float(y)) for x, y in pairs]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["tied", "a-name-of-a-hundred-letters-" + "x" * 72])
def test_no_mark_or_word_leaves_the_drawing(width: int, name: str) -> None:
    results = [*runs(name, TIED_NATS), *runs("untied", UNTIED_NATS)]
    comparison = summarize(results, [], "example", "untied", [name, "untied"])
    recipes = recipes_comparison(RECIPES | {name: (-0.2, {}), f"new {name}": (None, {})}, ("tied", "soft"))
    budgets = budgets_comparison(variants=("tied", "soft"))
    charts = [*all_charts(comparison, SECTIONS), *charts_of_parts(recipes), *charts_of_parts(budgets)]
    for chart in charts:
        drawing = svg(chart, width)
        height = float((drawing.get("viewBox") or "").split()[3])
        for element in drawing.iter():
            for x in ("x", "x1", "x2", "cx"):
                assert element.get(x) is None or -0.01 <= number(element, x) <= width + 0.01
            for y in ("y", "y1", "y2", "cy"):
                assert element.get(y) is None or -0.01 <= number(element, y) <= height + 0.01
            for across, down in points_of(element):
                assert -0.01 <= across <= width + 0.01 and -0.01 <= down <= height + 0.01


def titles(drawing: ElementTree.Element) -> list[str]:
    return [title.text or "" for title in drawing.iter() if title.tag == "title"]


def test_the_value_of_each_seed_is_said_where_it_is_not_written() -> None:
    estimate = Estimate("tied", 0, "words", 0.1, (0.0, 0.2), (0.05, 0.15), ("seed 0: +0.05", "seed 1: +0.15"))
    drawing = svg(IntervalChart("key", "title", "nats", "below", "above", (estimate,)), 500)
    assert titles(drawing) == ["tied: words", "seed 0: +0.05", "seed 1: +0.15"]
    dots, near = of_class(drawing, "single"), of_class(drawing, "near")
    assert [number(dot, "cx") for dot in dots] == [number(each, "cx") for each in near]
    without = svg(IntervalChart("key", "title", "nats", "below", "above", (replace(estimate, singles_words=()),)), 500)
    assert titles(without) == ["tied: words"]
    assert len(of_class(without, "single")) == 2


@pytest.mark.parametrize(("num_points", "is_marked"), [(MOST_MARKED, True), (MOST_MARKED + 1, False)])
def test_each_point_of_a_curve_says_its_value_and_a_long_curve_hides_its_dots(num_points: int, is_marked: bool) -> None:
    samples = tuple(Sample(step, 1 / step, 0.9 / step, 1.1 / step, f"step {step}") for step in range(1, num_points + 1))
    drawing = svg(CurveChart("key", "title", "x", "y", (Curve("tied", 0, samples),)), 500)
    assert titles(drawing) == [f"tied, {sample.words}" for sample in samples]
    assert len(of_class(drawing, "hidden")) == (0 if is_marked else num_points)


def test_a_measured_peak_says_its_value() -> None:
    chart = StackChart("key", "title", ("x",), (Stack("a", "1", (1.0,), 2.0),), written=str, mark="measured")
    assert titles(svg(chart, 500)) == ["a, x: 1.0", "a, measured: 2.0"]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_diamond_is_as_wide_as_its_interval_and_its_whiskers_reach_further(width: int) -> None:
    estimate = Estimate("mean", 0, "words", 0.1, (0.0, 0.3), mark="diamond", whiskers=(-0.2, 0.4), group="Across")
    drawing = svg(IntervalChart("key", "title", "nats", "below", "above", (estimate,)), width)
    (diamond,), (whiskers,) = of_class(drawing, "mark"), of_class(drawing, "whiskers")
    (left, _), (top, _), (right, _), _ = points_of(diamond)
    pixels = (right - left) / 0.3
    assert number(next(iter(of_class(drawing, "zero"))), "x1") == pytest.approx(left, abs=0.1)
    assert top == pytest.approx(left + 0.1 * pixels, abs=0.1)
    assert number(whiskers, "x1") == pytest.approx(left - 0.2 * pixels, abs=0.2)
    assert number(whiskers, "x2") == pytest.approx(left + 0.4 * pixels, abs=0.2)
    assert [words.text for words in of_class(drawing, "group")] == ["Across"]


def test_each_verdict_has_a_shape_of_its_own() -> None:
    marks: list[Mark] = ["dot", "ring", "square", "left", "right", "up", "down", "diamond"]
    drawn = set()
    for mark in marks:
        estimate = Estimate("a", 0, "words", 0.1, None, mark=mark)
        (shape,) = of_class(svg(IntervalChart("key", "title", "x", "b", "a", (estimate,)), 500), "mark")
        drawn.add(ElementTree.tostring(shape))
    assert len(drawn) == len(marks)


@pytest.mark.parametrize("width", WIDTHS)
def test_budgets_stand_at_equal_distances_where_each_is_the_double_of_the_one_before(width: int) -> None:
    chart = trend_chart(budgets_comparison())
    assert chart is not None
    drawing = svg(chart, width)
    bars = [line for line in of_class(drawing, "interval") if line.get("x1") == line.get("x2")]
    places = [number(bar, "x1") for bar in bars]
    gaps = [after - before for before, after in itertools.pairwise(places)]
    assert gaps == pytest.approx([gaps[0]] * 3, abs=0.1)
    (trend,) = of_class(drawing, "trend")
    assert (number(trend, "x1"), number(trend, "x2")) == pytest.approx((places[0], places[-1]), abs=0.01)


@pytest.mark.parametrize("width", range(300, 420, 10))
def test_the_name_of_a_group_is_never_broken_within_an_interval(width: int) -> None:
    group = "Across 6 recipes: below 0 under 5 (4 judged better); one more recipe: [-0.0856, +0.0661]"
    estimate = Estimate("mean", 0, "words", 0.1, (0.0, 0.3), group=group)
    drawing = svg(IntervalChart("key", "title", "nats", "below", "above", (estimate,)), width)
    lines = [(words.text or "").replace("\xa0", " ") for words in of_class(drawing, "group")]
    assert " ".join(lines) == group and len(lines) > 1
    assert any("[-0.0856, +0.0661]" in line for line in lines)
