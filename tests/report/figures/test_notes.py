"""Notes on how to read the figures, and on what is missing."""

from tests.support.finished_runs import (
    TIED_NATS,
    UNTIED_NATS,
    compared,
    effective,
    example_comparison,
    runs,
    split_result,
)
from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures.detail_tables import more_figures_table
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.figures.notes import detail_notes, how_to_read


def test_the_rule_of_the_verdict_stands_below_the_table() -> None:
    text = " ".join(how_to_read(example_comparison()))
    assert "better, worse: the 95 % interval excludes 0; equal: the 90 % interval lies within ±0.01." in text
    assert "seeds that would tell" not in text
    noisy = compared(*runs("tied", [4.0, 4.1, 3.9]), *runs("untied", [4.0, 4.0, 4.0]))
    assert "seeds that would tell: at 80 % power" in " ".join(how_to_read(noisy))


def test_it_is_said_which_verdicts_are_corrected() -> None:
    names = ("a", "b", "c")
    results = [*(run for name in names for run in runs(name, TIED_NATS)), *runs("untied", UNTIED_NATS)]
    comparison = compared(*results)
    assert "Holm-corrected: the verdicts and intervals of b, c." in list(how_to_read(comparison))
    older = [found.model_copy(update={"ci95_corrected": None}) for found in comparison.differences]
    said = list(how_to_read(comparison.model_copy(update={"differences": older})))
    assert "Holm-corrected: the verdicts, not the intervals, of b, c." in said, "as an earlier version stored it"
    assert "Holm" not in " ".join(how_to_read(example_comparison()))


def test_the_reason_for_a_missing_figure_is_told_once() -> None:
    lossy = split_result(4.0, words=None, words_reason="12 words became <unk>", bytes=None, bytes_reason="lossy")
    comparison = example_comparison(splits={"test": lossy})
    said = list(main_table(comparison).reasons())
    assert said.count("test perplexity per word: none, 12 words became <unk>.") == 1, "once for both variants"
    assert "bits per byte: none, lossy." in list(more_figures_table(comparison).reasons())


def test_one_machine_is_named_once_and_several_at_each_variant() -> None:
    def devices(comparison: Comparison) -> tuple[str, ...]:
        return next(row.cells for row in more_figures_table(comparison).rows if row.label == "device")

    alike = example_comparison()
    assert "All runs were on cpu (Any CPU)." in list(detail_notes(alike))
    assert devices(alike) == ("cpu", "cpu")
    other = effective(device_name="Another CPU")
    apart = compared(*runs("tied", TIED_NATS, effective=other), *runs("untied", UNTIED_NATS))
    assert devices(apart) == ("cpu (Another CPU)", "cpu (Any CPU)")
    assert not any(note.startswith("All runs were on") for note in detail_notes(apart))
