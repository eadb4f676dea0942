"""Interval charts in letters."""

import pytest

from tiedlm.report.charts.chart import Estimate, IntervalChart
from tiedlm.report.formats.text_chart import text_chart, text_legend

CHART = IntervalChart(
    "key",
    "title",
    "nats",
    "favours tied",
    "favours untied",
    (
        Estimate("left", 0, "words", -0.4, (-0.6, -0.2), mark="left", group="first"),
        Estimate("all", 0, "words", 0.1, (0.0, 0.2), mark="diamond", whiskers=(-0.5, 0.7), group="second"),
        Estimate("nothing", 0, "words", None, None, group="second"),
    ),
)


@pytest.mark.parametrize("is_ascii", [True, False])
@pytest.mark.parametrize("width", [30, 60, 80])
def test_ends_and_marks_stand_where_a_linear_axis_has_them(width: int, is_ascii: bool) -> None:
    lines = list(text_chart(CHART, width, is_ascii))
    assert max(map(len, lines)) <= width
    assert "first" in lines and "second" in lines
    row = next(line for line in lines if line.startswith("left"))
    low, high = (row.index("|"), row.index("|", row.index("<"))) if is_ascii else (row.index("├"), row.index("┤"))
    zero = row.rindex("|" if is_ascii else "│")
    mark = row.index("<" if is_ascii else "◀")
    per_cell = 0.4 / (high - low)
    assert pytest.approx((mark - zero) * per_cell, abs=1.5 * per_cell) == -0.4
    assert pytest.approx((high - zero) * per_cell, abs=1.5 * per_cell) == -0.2


def test_each_row_crosses_zero_in_one_column_and_a_row_without_a_value_has_only_that() -> None:
    lines = list(text_chart(CHART, 60, is_ascii=False))
    columns = {line.index("│") for line in lines if "│" in line}
    assert len(columns) == 1
    nothing = next(line for line in lines if line.startswith("nothing"))
    assert nothing.split() == ["nothing", "│"]
    axis = lines[-1]
    assert axis[columns.pop()] == "0"


def test_letters_are_ascii_where_nothing_else_can_be_written() -> None:
    assert all(line.isascii() for line in text_chart(CHART, 60, is_ascii=True))


def test_a_name_too_long_for_its_column_stands_whole_above_its_row() -> None:
    name = "a-name-of-many-letters-" * 4
    chart = IntervalChart("key", "title", "nats", "below", "above", (Estimate(name, 0, "w", 0.1, (0.0, 0.2)),))
    lines = list(text_chart(chart, 40, is_ascii=True))
    assert max(map(len, lines)) <= 40
    assert name in "".join(lines)


@pytest.mark.parametrize(("width", "num_lines"), [(80, 1), (30, 2)])
def test_the_sides_are_named_on_one_line_where_it_has_room(width: int, num_lines: int) -> None:
    at_the_edge = IntervalChart("key", "t", "x", "favours tied", "favours untied", (CHART.estimates[0],))
    lines = list(text_chart(at_the_edge, width, is_ascii=False))[:num_lines]
    assert "← favours tied" in lines[0] and "favours untied →" in lines[-1]


def test_the_legend_names_every_letter_that_a_verdict_may_have() -> None:
    assert text_legend(is_ascii=True, has_diamond=False) == (
        "< better, > worse, = equal, o cannot tell; |-| 95 % interval over seeds."
    )
    assert "# mean across recipes" in text_legend(is_ascii=True, has_diamond=True)
