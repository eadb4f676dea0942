"""The main table."""

from tests.support.finished_runs import compared, runs
from tests.support.matched_runs import BASE, matched, shifted
from tiedlm.report.figures.main_table import main_table


def test_a_matched_variant_shows_its_difference_on_every_split_beside_the_judged_ones() -> None:
    comparison = compared(
        *runs("tied", shifted(0.1)),
        *runs("untied", BASE),
        *matched("matched_width", shifted(-0.05)),
        *matched("matched_depth", shifted(-0.03)),
    )
    rows = {row.label: row.cells for row in main_table(comparison).rows}
    for split in ("test", "validation"):
        tied, untied, width, depth = rows[f"{split} difference"]
        assert untied == "baseline"
        assert tied.startswith("+0.1") and width.startswith("-0.05") and depth.startswith("-0.03")
