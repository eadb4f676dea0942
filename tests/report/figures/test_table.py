"""Tables as data: why a figure of one is absent."""

import pytest

from tests.support.finished_runs import (
    TIED_NATS,
    UNTIED_NATS,
    compared,
    effective,
    example_comparison,
    run_result,
    runs,
    split_result,
)
from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures.detail_tables import detail_tables
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.figures.screen import screen_table
from tiedlm.report.figures.table import NOTHING, Absence, Row, Table
from tiedlm.report.sections.all import SECTIONS


def test_a_reason_is_told_once_for_all_that_has_it() -> None:
    lossy, short = Absence("12 words became <unk>"), Absence("one seed has no spread", "+0.1", "no interval")
    table = Table(
        ("a", "b"),
        (
            Row.of("perplexity", ["1.0", "2.0"]),
            Row.of("per word", [lossy, lossy], 1),
            Row.of("difference", [short, "baseline"]),
            Row.of("memory", [Absence("no GPU", short="no GPU"), "1 MiB"]),
        ),
    )
    assert [row.cells for row in table.rows[1:]] == [("–", "–"), ("+0.1", "baseline"), ("no GPU", "1 MiB")]
    assert list(table.reasons()) == [
        "per word: none, 12 words became <unk>.",
        "difference (a): no interval, one seed has no spread.",
    ]


def test_a_label_that_stands_there_twice_is_told_with_the_row_above() -> None:
    absent = Absence("lossy")
    rows = (Row.of("test", ["1"]), Row.of("words", ["2"], 1), Row.of("train", ["3"]), Row.of("words", [absent], 1))
    assert list(Table(("a",), rows).reasons()) == ["train, words: none, lossy."]


def test_reasons_stay_with_their_cells_where_a_table_is_split() -> None:
    absent = Absence("not scored")
    one, other = Table(("a", "b"), (Row.of("size", ["1", absent]),)).split(2)
    assert list(one.reasons()) == []
    assert list(other.reasons()) == ["size: none, not scored."]


@pytest.mark.parametrize(
    "comparison",
    [
        example_comparison(),
        example_comparison(num_seeds=1),
        example_comparison(splits={"test": split_result(800.0)}),
        example_comparison(splits={"validation": split_result(4.0, words=None, words_reason="lossy")}),
        example_comparison(steady_seconds=0.0, steady_tokens=0),
        compared(*runs("tied", TIED_NATS, effective=effective(precision="bf16")), *runs("untied", UNTIED_NATS)),
        compared(run_result("tied", 1), run_result("untied", 2)),
        compared(run_result("tied", 1), baseline="untied"),
    ],
)
def test_no_table_has_a_dash_without_a_reason(comparison: Comparison) -> None:
    tables = [screen_table(comparison), main_table(comparison), *detail_tables(comparison)]
    tables += [table for section in SECTIONS for table in section.tables(comparison)]
    for table in tables:
        for row in (each for whole in table.rows for each in (whole, *whole.brief)):
            dashes = {place for place, cell in enumerate(row.cells) if cell == NOTHING}
            assert dashes <= row.absences.keys(), row.label
            assert all(absence.reason for absence in row.absences.values())
