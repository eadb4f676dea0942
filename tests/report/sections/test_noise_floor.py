"""The section on the noise floor: one sentence at a glance, two tables, and a band in the chart of differences."""

import pytest

from tests.support.finished_runs import UNTIED_NATS, compared, effective, example_comparison, runs
from tests.support.redrawn_runs import EXAMPLE, REDRAWN_NATS, redrawn
from tiedlm.comparison.analyses.noise_floor import NoiseFloor
from tiedlm.report.sections.all import SECTIONS
from tiedlm.report.sections.noise_floor import SECTION
from tiedlm.report.sections.section import main_chart


def test_the_size_of_the_noise_is_told_and_how_many_times_that_a_difference_is() -> None:
    (said,) = SECTION.remarks(compared(*EXAMPLE))
    assert "moves a run of untied by 0.0071 nats per token on test (root mean square over 5 seeds" in said
    assert said.endswith("the mean difference is 4.4 times that for tied.")


def test_without_another_variant_the_noise_stands_alone() -> None:
    (said,) = SECTION.remarks(compared(*EXAMPLE[5:]))
    assert "moves a run of untied by 0.0071 nats per token" in said
    assert "times" not in said


def test_no_more_than_three_variants_are_named_at_a_glance() -> None:
    others = [run for name in ("a", "b", "c") for run in runs(name, UNTIED_NATS)]
    (said,) = SECTION.remarks(compared(*EXAMPLE, *others))
    assert said.count(" times that for ") == 3


def test_one_seed_gives_a_change_and_no_noise() -> None:
    (said,) = SECTION.remarks(compared(*(run for run in EXAMPLE if run.seed == 0)))
    assert "one seed says nothing of a spread; it moved untied by +0.0060" in said


def test_a_draw_that_changes_nothing_is_no_measure() -> None:
    assert list(SECTION.remarks(compared(*EXAMPLE[:10], *redrawn(UNTIED_NATS)))) == [
        "Noise floor: a fresh draw of the embeddings alone moves no run of untied."
    ]


def test_runs_that_differ_in_more_show_the_reason_in_place_of_the_noise() -> None:
    comparison = compared(*EXAMPLE[:10], *redrawn(REDRAWN_NATS, effective=effective(precision="bf16")))
    floor = comparison.analysis(NoiseFloor)
    assert floor is not None and floor.reason is not None
    (table, *_) = SECTION.tables(comparison)
    assert table.rows[0].cells == ("–",)
    (said,) = table.reasons()
    assert said.startswith("a fresh draw moves a run by, ") and said.endswith(f": none, {floor.reason}.")


def test_the_tables_hold_every_figure() -> None:
    noise, beside = SECTION.tables(compared(*EXAMPLE))
    assert {row.label: row.cells for row in noise.rows} == {
        "a fresh draw moves a run by": ("0.0071 [0.0044, 0.0174]",),
        "mean (0 is expected)": ("+0.0018 [-0.0077, +0.0113]",),
        "sample deviation": ("0.0077",),
        "seed 0": ("+0.0060",),
        "seed 1": ("-0.0060",),
        "seed 2": ("+0.0070",),
        "seed 3": ("+0.0090",),
        "seed 4": ("-0.0070",),
    }
    assert beside.names == ("tied",)
    assert [row.cells[0] for row in beside.rows][:2] == ["4.4", "0.98"]
    assert SECTION.tables(compared(*EXAMPLE[:10])) == []


def test_differences_are_held_against_the_noise_where_it_was_measured() -> None:
    comparison = compared(*EXAMPLE)
    chart, floor = main_chart(comparison, SECTIONS), comparison.analysis(NoiseFloor)
    assert chart is not None and floor is not None
    noise = floor.noise or pytest.fail("it was measured")
    assert [(band.low, band.high) for band in chart.bands] == [(-0.01, 0.01), (-noise, noise)]
    assert {estimate.name for estimate in chart.estimates} == {"tied, test", "tied, validation"}


def test_comparisons_without_it_show_nothing_of_it() -> None:
    plain = example_comparison()
    assert not [*SECTION.remarks(plain), *SECTION.tables(plain), *SECTION.bands(plain)]
