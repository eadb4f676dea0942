"""The section on the budget: what is said at a glance, and the tables of prices, gains and matched bodies."""

import io
import re

import pytest
from rich.console import Console

from tests.support.finished_runs import compared, runs
from tests.support.matched_runs import BASE, matched, shifted
from tiedlm.comparison.comparison import Comparison
from tiedlm.report.formats.terminal import render_comparison
from tiedlm.report.sections.budget import SECTION


def matched_comparison(num_depth: int = 5) -> Comparison:
    """Tied is worse than untied, and with a body as large as untied's better."""
    return compared(
        *runs("tied", shifted(0.1)),
        *runs("untied", BASE),
        *matched("matched_width", shifted(-0.05)),
        *matched("matched_depth", shifted(-0.03)[:num_depth]),
    )


@pytest.mark.parametrize("width", [40, 80, 120])
def test_two_sentences_at_a_glance_and_every_figure_in_the_details(width: int) -> None:
    comparison = matched_comparison()
    first, second = SECTION.remarks(comparison)
    assert first.startswith("At equal parameters tied is better than untied on test: ")
    for words in ("38,597,376 parameters more than tied", "buys +0.100", "in the body of tied buy +0.150", "by depth"):
        assert words in second
    stream = io.StringIO()
    render_comparison(comparison, Console(file=stream, width=width), details=True)
    shown = stream.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    for table in SECTION.tables(comparison):
        for row in table.rows:
            assert all(cell in " ".join(shown.split()) for cell in row.cells)


def test_over_how_many_seeds_is_said_where_these_are_not_all() -> None:
    equal, break_even = SECTION.remarks(matched_comparison(num_depth=3))
    assert re.search(r"matched by width \(95 % interval \S+ to \S+\) and \S+ matched by depth", equal)
    assert re.search(r"matched by depth \(95 % interval \S+ to \S+, over the 3 seeds in common\), nats", equal)
    assert re.search(r"by depth \(95 % interval \S+ to \S+, over the 3 seeds in common, ", break_even)
    assert break_even.count("in common") == 1


def test_one_seed_buys_a_figure_without_an_interval() -> None:
    comparison = compared(*runs("tied", BASE[:1]), *runs("untied", shifted(0.1)[:1]))
    assert "-0.102 nats per token on test (one seed has no spread; above 0" in list(SECTION.remarks(comparison))[-1]


def test_the_tables_hold_price_gain_and_matched_bodies() -> None:
    prices, gains, bodies = SECTION.tables(matched_comparison())
    assert prices.names == gains.names == ("untied over tied", "tied+width over tied", "tied+depth over tied")
    assert prices.rows[0].cells == ("+38,597,376",) * 3
    assert gains.rows[0].cells == ("itself", "width", "depth")
    assert all(cell.startswith("+0.1") for cell in gains.rows[1].cells)
    assert bodies.names == ("tied+width", "tied+depth")
    cells = {row.label: row.cells for row in bodies.rows}
    assert cells["verdict by itself"] == ("better", "better")
    assert cells["equal to the last bit"] == ("batches", "batches"), "another body starts from other values"


def test_no_more_than_three_conclusions_are_named_at_a_glance() -> None:
    names = ("a", "b", "c", "d", "e")
    results = [*runs("untied", BASE)]
    for name in names:
        results += runs(name, shifted(0.1), tying="tied")
        for role in ("matched_width", "matched_depth"):
            results += matched(role, shifted(-0.05), of=name)
    equal, _ = SECTION.remarks(compared(*results))
    assert equal.count("equal parameters") == 3
    assert equal.endswith("; 2 more variants in the details.")


def test_the_csv_has_the_conclusion_at_the_variant_and_a_difference_at_each_body() -> None:
    comparison = matched_comparison()
    by_metric = {figure.metric: figure.value for figure in SECTION.figures(comparison, "tied")}
    assert by_metric.keys() == {"verdict_at_equal_parameters", "p_difference_at_equal_parameters"}
    assert by_metric["verdict_at_equal_parameters"] == "better"
    of_body = {figure.metric: figure.value for figure in SECTION.figures(comparison, "tied+width")}
    assert of_body["verdict_by_itself"] == "better" and "verdict" not in of_body
    assert list(SECTION.figures(comparison, "untied")) == []


def test_variants_of_one_size_show_nothing() -> None:
    alike = compared(*runs("untied", BASE), *runs("untied-too", shifted(0.1), tying="untied"))
    assert not [*SECTION.remarks(alike), *SECTION.tables(alike), *SECTION.figures(alike, "untied")]
