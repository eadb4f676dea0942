"""What is shown of the breakdown by frequency, and when it is said at a glance."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support.finished_runs import example_comparison, summarize
from tests.support.stored_scores import Stored
from tiedlm.comparison.analyses.frequency import Bin, BinDifference, Breakdown, Frequency
from tiedlm.comparison.comparison import Comparison, load_comparison, store_comparison
from tiedlm.report.charts.chart import IntervalChart
from tiedlm.report.formats.terminal_writer import TerminalWriter
from tiedlm.report.sections.frequency import SECTION

RARE, FREQUENT = 1, 5
EVERYWHERE = dict.fromkeys(range(6), 0.2)


def compared(folder: Path, shift: Mapping[int, float], num_seeds: int = 5, **changes: Any) -> Comparison:
    stored = Stored(folder).add_pairs(num_seeds, shift, spread=0.002, **changes)
    results = [run for own in stored.runs.values() for run in own]
    return summarize(results, [], "example", "untied", ["tied", "untied"], scores_of=stored.path)


@pytest.fixture(scope="module")
def shifted(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Worse on the whole, better on rare targets."""
    return compared(tmp_path_factory.mktemp("shifted"), EVERYWHERE | {RARE: -0.3})


def shown(comparison: Comparison, width: int) -> str:
    stream = io.StringIO()
    writer = TerminalWriter(Console(file=stream, width=width))
    for table in SECTION.tables(comparison):
        writer.table(table)
    return stream.getvalue()


@pytest.mark.parametrize("width", [40, 80, 120])
def test_every_figure_stands_whole_at_every_width(shifted: Comparison, width: int) -> None:
    text = shown(shifted, width)
    assert max(map(len, text.splitlines())) <= width
    for table in SECTION.tables(shifted):
        for row in table.rows:
            assert all(any(cell in line for line in text.splitlines()) for cell in row.cells)


def test_two_variants_are_tables_on_80_columns(shifted: Comparison) -> None:
    headers = [line.split() for line in shown(shifted, 80).splitlines()]
    assert headers.count(["tied", "untied", "difference", "verdict"]) == 3
    assert headers.count(["types", "tokens", "documents", "share"]) == 2
    assert headers.count(["0", "1-9", "10-99", "100-999", "1k-9.9k", "10k+"]) == 2


def test_a_row_says_what_the_bin_holds_and_what_is_known_of_it(shifted: Comparison) -> None:
    frequency = shifted.analysis(Frequency)
    assert frequency is not None
    rare = frequency.breakdowns[0].bins[RARE]
    (difference,) = rare.differences
    text = " ".join(shown(shifted, 120).split())
    assert f"1-9 10 {rare.tokens:,.0f} {rare.documents} " in text
    assert f"1-9 {rare.scores[0].nats_per_token:.4f} {rare.scores[1].nats_per_token:.4f} -0.3" in text
    assert difference.verdict == "better"
    assert "tied against untied by frequency of the target, nats per token (95 % interval over seeds)" in text


def test_a_bin_that_says_otherwise_is_told_at_a_glance_with_what_it_is_given(shifted: Comparison) -> None:
    (line,) = SECTION.remarks(shifted)
    assert line.startswith("tied is worse than untied on the whole of test, but tied is better by 0.30")
    assert "on targets seen 1-9 times (given 9.52 % of the probability, by untied 9.52 %; " in line
    assert "exploratory, Holm-corrected" in line


def test_nothing_is_said_at_a_glance_where_all_bins_agree_or_cannot_tell(tmp_path: Path) -> None:
    assert list(SECTION.remarks(compared(tmp_path, EVERYWHERE))) == []


def test_a_difference_that_evens_out_on_the_whole_is_told(tmp_path: Path) -> None:
    comparison = compared(tmp_path, {RARE: -0.4, FREQUENT: 0.32})
    (line,) = SECTION.remarks(comparison)
    assert line.startswith("tied is better than untied on the whole of test, but tied is worse by 0.32")
    assert "on targets seen 10k+ times" in line and "; equal on" in line


def test_one_seed_shows_intervals_over_documents_and_no_verdict_on_seeds(tmp_path: Path) -> None:
    comparison = compared(tmp_path, EVERYWHERE, num_seeds=1)
    text = " ".join(shown(comparison, 120).split())
    assert "(95 % interval over documents)" in text
    assert "cannot tell" in text and "better" not in text and "worse" not in text
    assert list(SECTION.remarks(comparison)) == []
    assert not any("Holm" in note or "mean over seeds of" in note for note in SECTION.notes(comparison))


def test_what_is_missing_says_why(tmp_path: Path, shifted: Comparison) -> None:
    notes = "\n".join(SECTION.notes(compared(tmp_path, EVERYWHERE, num_seeds=2, shapes=None)))
    assert "By kind of the target: nothing, the tokenizer does not show what its tokens are pieces of." in notes
    assert "difference: mean over seeds of each seed's. Other batches put other tokens into a bin" in notes
    few = "verdict (0): none, 4 documents have such a token, and fewer than 20 have no verdict."
    assert few in [reason for table in SECTION.tables(shifted) for reason in table.reasons()]


def test_bins_without_a_verdict_for_one_reason_are_told_of_once_a_table(shifted: Comparison) -> None:
    frequency = shifted.analysis(Frequency)
    assert frequency is not None
    few = BinDifference(variant="tied", reason="too few")
    breakdowns = [
        breakdown.model_copy(
            update={"bins": [found.model_copy(update={"differences": [few, few]}) for found in breakdown.bins]}
        )
        for breakdown in frequency.breakdowns
    ]
    comparison = shifted.model_copy(update={"frequency": frequency.model_copy(update={"breakdowns": breakdowns})})
    assert "interval" not in shown(comparison, 120), "no title promises what no row has"
    said = [[each for each in table.reasons() if "few" in each] for table in SECTION.tables(comparison)]
    assert {len(reasons) for reasons in said} == {0, 1}
    assert ["difference, verdict: none, too few."] in said


def test_comparisons_without_it_show_nothing_of_it(shifted: Comparison) -> None:
    old = shifted.model_copy(update={"frequency": None})
    assert not [*SECTION.tables(old), *SECTION.remarks(old), *SECTION.notes(old), *SECTION.charts(old)]
    results_alone = shifted.model_copy(update={"frequency": Frequency(reason="no files")})
    assert list(SECTION.notes(results_alone)) == ["By frequency of tokens: nothing, no files."]


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
    (chart,) = SECTION.charts(comparison)
    assert isinstance(chart, IntervalChart)
    assert chart.title == "Difference to untied by how often the target was seen in training"
    ((name, middle, interval),) = [(each.name, each.middle, each.interval) for each in chart.estimates]
    assert (name, middle, interval) == ("1-9", 0.25, (0.24, 0.26)), "a bin without a difference is left out"
    assert list(SECTION.charts(example_comparison())) == []


def test_it_is_stored_and_read_again(tmp_path: Path, shifted: Comparison) -> None:
    store_comparison(shifted, tmp_path)
    assert load_comparison(tmp_path) == shifted
