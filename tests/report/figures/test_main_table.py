"""The main table."""

import math

from tests.support.finished_runs import compared, example_comparison, runs
from tests.support.matched_runs import BASE, matched, shifted
from tiedlm.report.figures.detail_tables import more_figures_table
from tiedlm.report.figures.main_table import main_table
from tiedlm.run.result import Memory


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


def test_measured_memory_is_shown_in_mebibytes() -> None:
    memory = Memory(
        gpu_peak_allocated_bytes=3 * 2**30 + 2**19,
        gpu_peak_reserved_bytes=4 * 2**30,
        predicted_peak_bytes=2**30,
        host_peak_rss_bytes=2**20,
    )
    cells = {row.label: row.cells for row in main_table(example_comparison(memory=memory)).rows}
    assert cells["peak GPU memory, allocated, max"] == ("3,072.5 MiB", "3,072.5 MiB")
    assert cells["peak GPU memory, reserved, max"] == ("4,096.0 MiB", "4,096.0 MiB")
    (row,) = [row for row in more_figures_table(example_comparison(memory=memory)).rows if "predicted" in row.label]
    assert row.cells == ("1,024.0 MiB", "1,024.0 MiB")


def test_a_spread_much_smaller_than_a_hundredth_is_not_shown_as_none() -> None:
    comparison = compared(*runs("tied", [4.0, 4.00001, 4.00002]), *runs("untied", [4.0, 4.0, 4.0]))
    perplexities = [math.exp(4 + change) for change in (0, 1e-5, 2e-5)]
    sd = math.sqrt(sum((value - sum(perplexities) / 3) ** 2 for value in perplexities) / 2)
    (row,) = [row for row in main_table(comparison).rows if row.label == "test perplexity"]
    assert row.cells[0].endswith(f"± {sd:.5f}")
