"""The section on the tokens that each variant needs to reach the loss of the baseline."""

from tests.support.finished_runs import compared
from tests.support.validated_runs import BASE, validated_run
from tiedlm.report.sections.tokens_to_reach import SECTION


def test_it_is_said_in_one_sentence_and_a_table() -> None:
    comparison = compared(
        validated_run("untied", BASE),
        validated_run("tied", [(40, 4.5), (80, 3.5)]),
        validated_run("soft", [(50, 5.0), (100, 4.2)]),
    )
    assert list(SECTION.remarks(comparison)) == [
        "Validation: untied's final loss is reached by tied after 600 tokens (60 % of what untied itself takes); "
        "soft: not reached within 1,000 tokens; of one seed, which has no spread."
    ]
    (table,) = SECTION.tables(comparison)
    assert table.names == ("untied", "tied", "soft")
    assert [row.cells for row in table.rows] == [
        ("1,000", "600", "–"),
        ("100.0 %", "60.0 %", "–"),
        ("1,000", "600", "–"),
    ]
    assert list(table.reasons()) == [
        "mean over seeds, share of untied's, seed 0 (soft): none, not reached within 1,000 tokens."
    ]


def test_it_is_said_over_how_many_seeds_there_is_a_mean_and_that_it_has_no_interval() -> None:
    every = [
        validated_run(name, curve, seed)
        for name, curve in (("untied", BASE), ("tied", [(40, 4.5), (80, 3.5)]))
        for seed in (0, 1)
    ]
    (said,) = SECTION.remarks(compared(*every))
    assert said.endswith("(60 % of what untied itself takes); means over 2 seeds, without an interval.")


def test_a_reason_for_all_is_said_once_and_not_at_a_glance() -> None:
    comparison = compared(validated_run("untied", BASE, training={"schedule": "cosine"}))
    assert list(SECTION.remarks(comparison)) == []
    assert SECTION.tables(comparison) == []
    (note,) = SECTION.notes(comparison)
    assert note.startswith("Tokens to reach untied's final loss: none, ")
