"""Signs on the screen: one sentence for each kind, nothing where there is none."""

import io

from rich.console import Console

from tests.support.finished_runs import compared, example_comparison, run_result
from tests.support.validated_runs import validated_run
from tiedlm.comparison.comparison import Comparison
from tiedlm.report.formats.html import comparison_html
from tiedlm.report.formats.markdown import comparison_markdown
from tiedlm.report.formats.terminal import render_comparison
from tiedlm.report.sections.signs import SECTION
from tiedlm.run.result import UpdateRatios

SLOW = UpdateRatios(steps=[5], by_part={"shared_embedding": [0.001], "body": [0.01]})
CURVE = [(50, 5.0), (100, 4.0)]


def doubted() -> Comparison:
    results = [
        validated_run(name, CURVE, seed, nats=nats, update_ratios=SLOW)
        for name, nats in (("tied", 4.1), ("tied-2", 4.2), ("untied", 4.0))
        for seed in (0, 1)
    ]
    return compared(*results)


def test_a_kind_is_one_sentence_that_names_the_others_of_its_kind() -> None:
    falling, slow = SECTION.at_a_glance(doubted())
    assert falling == (
        "Validation of tied and untied fell by 1.000 nats per token in the last doubling of tokens, more than "
        "the difference of 0.100: a longer run may differ; so too: tied-2."
    )
    assert slow.endswith("so too: the shared embedding of tied-2, the shared embedding of untied.")


def test_every_format_shows_them_and_their_figures() -> None:
    stream = io.StringIO()
    render_comparison(doubted(), Console(file=stream, width=80), details=True)
    shown = " ".join(stream.getvalue().split())
    for text in (shown, comparison_markdown(doubted()), comparison_html(doubted())):
        assert "fell by 1.000 nats per token" in text
        assert "in the last doubling of tokens" in text
        assert "0.10000" not in text and "0.00100" in text and "0.01000" in text


def test_where_all_is_well_nothing_is_said_and_the_figures_stand_in_the_details() -> None:
    plain = example_comparison()
    assert not [*SECTION.at_a_glance(plain), *SECTION.remarks(plain), *SECTION.tables(plain)], "none were measured"
    keeps_up = UpdateRatios(steps=[5], by_part={"shared_embedding": [0.01], "body": [0.01]})
    curve = [(50, 4.05), (100, 4.0)]
    well = compared(
        validated_run("tied", curve, update_ratios=keeps_up, nats=4.2),
        validated_run("untied", curve, update_ratios=keeps_up),
    )
    assert not list(SECTION.at_a_glance(well))
    falls, moves = SECTION.tables(well)
    assert falls.rows[0].cells == ("0.050", "0.050")
    assert moves.names == ("tied, shared embedding", "untied, shared embedding")
    assert [row.cells[0] for row in moves.rows] == ["0.01000", "0.01000", "1.00"]


def test_a_figure_that_one_variant_lacks_has_its_reason() -> None:
    half = compared(validated_run("tied", CURVE), run_result("untied", nats=4.2))
    (falls,) = SECTION.tables(half)
    assert any("training.evaluate_every" in reason for reason in falls.reasons())
