"""What the terminal shows of a comparison."""

import io
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support.finished_runs import (
    TIED_NATS,
    UNTIED_NATS,
    effective,
    example_comparison,
    run_result,
    runs,
    split_result,
    summarize,
)
from tiedlm.comparison.comparison import Comparison, store_comparison
from tiedlm.comparison.verdict import signed_together
from tiedlm.report.figures.detail_tables import detail_tables
from tiedlm.report.figures.main_table import main_table
from tiedlm.report.figures.table import Row, Table
from tiedlm.report.figures.variant_sentences import variant_sentences
from tiedlm.report.formats.terminal import render_comparison
from tiedlm.report.sections.section import Section
from tiedlm.run.result import Corpus, Memory, RunFailure


def shown(comparison: Comparison, width: int = 100, details: bool = False) -> str:
    stream = io.StringIO()
    render_comparison(comparison, Console(file=stream, width=width), details)
    return stream.getvalue()


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def compare(results: list[Any], **changes: Any) -> Comparison:
    names = list(dict.fromkeys(result.variant for result in results))
    arguments: dict[str, Any] = {"failures": [], "name": "example", "baseline": "untied", "order": names}
    return summarize(results, **arguments | changes)


@pytest.mark.parametrize("width", [40, 80, 100, 120])
@pytest.mark.parametrize("num_seeds", [1, 5])
def test_every_figure_stands_whole_at_every_width(width: int, num_seeds: int) -> None:
    comparison = example_comparison(num_seeds)
    text = shown(comparison, width, details=True)
    for row in (row for table in (main_table(comparison), *detail_tables(comparison)) for row in table.rows):
        for cell in row.cells:
            assert any(cell in line for line in text.splitlines())
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert "\x1b" not in text


def test_two_variants_stand_side_by_side_on_80_columns() -> None:
    lines = shown(example_comparison(), 80).splitlines()
    assert ["tied", "untied"] in [line.split() for line in lines]


def test_one_glance_holds_all_that_it_must() -> None:
    text = unwrapped(shown(example_comparison()))
    tied, test = example_comparison().variants[0], example_comparison().variants[0].splits["test"]
    assert text.startswith("On WikiText-103 (wikitext-103-v1); V=32,000, D=768, 100M tokens, fp32, 5 seeds: tied is")
    for words in (
        "parameters 124,439,808 163,037,184",
        "shared embedding 38,597,376 0",
        "parameters against untied -38,597,376 (-23.7 %) baseline",
        "FLOPs per token 741,857,280",
        f"test perplexity {test.token_perplexity:.2f} ± {test.token_perplexity_sd:.2f}",
        "seeds 5 seeds 5 seeds",
        f"train nll per token {tied.splits['train'].nats_per_token:.4f}",
        f"validation nll per token {tied.splits['validation'].nats_per_token:.4f}",
        "peak GPU memory not measured not measured",
        "tokens/s 97,804",
        "below 0 favours the variant, above 0 favours untied",
        "start and batches were equal",
        "(unigram) reach a test perplexity of 1,000.00",
        "Tying saves 38,597,376 parameters: tied has 23.7 % fewer than untied.",
    ):
        assert words in text


def test_one_seed_is_shown_as_one_seed_without_a_spread() -> None:
    text = unwrapped(shown(example_comparison(num_seeds=1), details=True))
    assert "seeds one seed one seed" in text
    assert "±" not in text
    assert "interval" not in text


def test_measured_memory_is_shown_in_mebibytes() -> None:
    memory = Memory(
        gpu_peak_allocated_bytes=3 * 2**30 + 2**19,
        gpu_peak_reserved_bytes=4 * 2**30,
        predicted_peak_bytes=2**30,
        host_peak_rss_bytes=2**20,
    )
    text = unwrapped(shown(example_comparison(memory=memory), details=True))
    assert "allocated 3,072.5 MiB" in text
    assert "reserved 4,096.0 MiB" in text
    assert "predicted peak memory 1,024.0 MiB" in text


def test_an_embedded_text_is_called_that_and_not_wikitext() -> None:
    corpus = Corpus(caption="the embedded corpus, not WikiText-103", details={}, vocab_size=4_096, tokenizer="bytes")
    text = shown(example_comparison(corpus=corpus))
    assert text.startswith("On the embedded corpus, not WikiText-103; V=4,096")
    assert "Text: the embedded corpus, not WikiText-103; bytes" in text


def test_runs_that_are_no_pairs_say_why_and_show_no_interval() -> None:
    comparison = compare(
        [*runs("tied", TIED_NATS, effective=effective(precision="bf16")), *runs("untied", UNTIED_NATS)]
    )
    text = unwrapped(shown(comparison))
    assert "better on test: the runs are not pairs (precision differs: bf16 against fp32)." in text
    assert "tied and untied are not pairs." in text
    assert "[" not in text


def test_other_settings_than_tying_are_pointed_at() -> None:
    config = run_result("tied").config
    faster = config | {"training": config["training"] | {"learning_rate": 1e-3}}
    text = unwrapped(shown(compare([*runs("tied", TIED_NATS, config=faster), *runs("untied", UNTIED_NATS)])))
    assert "tied and untied also differ in: training.learning_rate." in text
    assert "also differ" not in shown(example_comparison())


def test_failed_and_unfinished_runs_are_named() -> None:
    failure = RunFailure(variant="untied", seed=1, kind="out_of_memory", message="no [bold]room[/bold]", step=1_234)
    planned = {"tied": [0, 1, 2], "untied": [0, 1, 2]}
    comparison = compare([run_result("tied"), run_result("untied")], failures=[failure], planned=planned)
    text = unwrapped(shown(comparison))
    assert "Failed: untied, seed 1 (out_of_memory at step 1,234): no [bold]room[/bold]" in text
    assert "Not finished yet: 3 planned runs." in text


def test_a_comparison_of_nothing_but_failures_is_shown() -> None:
    failure = RunFailure(variant="untied", seed=1, kind="diverged", message="the loss is not finite")
    text = shown(compare([], failures=[failure]), details=True)
    assert text.startswith("No run has finished")
    assert "diverged" in text


def test_the_reason_for_a_missing_figure_is_among_the_details() -> None:
    lossy = split_result(4.0, words=None, words_reason="12 words became <unk>", bytes=None, bytes_reason="lossy")
    text = unwrapped(shown(example_comparison(splits={"test": lossy}), details=True))
    assert "test, word perplexity: none, 12 words became <unk>." in text
    assert "test, bits per byte: none, lossy." in text


def test_several_variants_get_a_line_of_the_verdict_each() -> None:
    comparison = compare([*runs("a", TIED_NATS), *runs("b", UNTIED_NATS), *runs("untied", UNTIED_NATS)])
    lines = shown(comparison, 120).splitlines()
    assert lines[0].endswith("5 seeds:")
    assert lines[1].startswith("- a is better than untied by")
    assert lines[2].startswith("- there is no difference between b and untied")
    assert lines[3].startswith("- a against untied is the primary comparison, the other is exploratory")


def over_documents(interval: tuple[float, float] | None) -> Comparison:
    """The example with this interval over its sixty documents."""
    comparison = example_comparison()
    reason = None if interval else "the scores of each token of tied, seed 0, are not there"
    update = {"ci95_text": interval, "num_documents": 60, "text_reason": reason}
    differences = [found.model_copy(update=update) for found in comparison.differences]
    return comparison.model_copy(update={"differences": differences})


def test_the_interval_over_documents_has_one_row_named_for_what_it_is() -> None:
    lines = shown(over_documents((-0.03412, -0.02891)), 80).splitlines()
    (row,) = [index for index, line in enumerate(lines) if "over 60 documents" in line]
    assert lines[row - 1].startswith("test difference")
    assert lines[row].split() == ["over", "60", "documents", "[-0.0341,", "-0.0289]", "baseline"]
    assert "bootstrap of the text; these checkpoints alone, not other seeds." in unwrapped("\n".join(lines))
    assert "over 60 documents" not in shown(over_documents(None), 80)
    details = unwrapped(shown(over_documents(None), 80, details=True))
    assert "test, tied over documents: none, the scores of each token of tied, seed 0, are not there." in details


def test_the_rule_of_the_verdict_stands_below_the_table() -> None:
    text = unwrapped(shown(example_comparison()))
    assert "better, worse: the 95 % interval excludes 0; equal: the 90 % interval lies within ±0.01." in text
    assert "seeds that would tell" not in text
    noisy = compare([*runs("tied", [4.0, 4.1, 3.9]), *runs("untied", [4.0, 4.0, 4.0])])
    assert "seeds that would tell: at 80 % power" in unwrapped(shown(noisy))


def test_it_is_said_which_verdicts_are_corrected() -> None:
    names = ("a", "b", "c")
    results = [*(run for name in names for run in runs(name, TIED_NATS)), *runs("untied", UNTIED_NATS)]
    assert "Holm-corrected: the verdicts on b, c; the intervals shown are not." in unwrapped(shown(compare(results)))
    assert "Holm" not in shown(example_comparison())


MANY = [f"soft-{index}" for index in range(7)]


@pytest.mark.parametrize("width", [40, 80, 100])
def test_of_many_variants_every_number_stands_whole(width: int) -> None:
    results = [run for name in [*MANY, "untied"] for run in runs(name, TIED_NATS)]
    text = shown(compare(results), width)
    assert max(map(len, text.splitlines())) <= width
    assert text.count("163,037,184") == 8
    in_tables = [line.split() for line in text.splitlines() if line.startswith("      ") and "soft" in line]
    if width == 40:
        assert set(MANY) <= {*text.splitlines()}, "a block each"
        assert not in_tables
    else:
        assert [name for names in in_tables for name in names if name in MANY] == MANY, "side by side, in order"


@pytest.mark.parametrize("width", [80, 100, 120])
def test_three_variants_with_intervals_are_one_table(width: int) -> None:
    results = [*runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS), *runs("soft-0.1", [4.0, 4.1, 4.0, 4.2, 4.1])]
    comparison = compare(results)
    comparison = comparison.model_copy(
        update={
            "differences": [
                found.model_copy(update={"ci95_text": found.ci95_seeds, "num_documents": 60})
                for found in comparison.differences
            ]
        }
    )
    lines = shown(comparison, width).splitlines()
    assert [line.split() for line in lines].count(["tied", "untied", "soft-0.1"]) == 1
    (row,) = [index for index, line in enumerate(lines) if line.startswith("test difference")]
    interval = signed_together(comparison.differences[0].mean or 0, comparison.differences[0].ci95_seeds)[1:]
    assert f"[{', '.join(interval)}]" in lines[row + (width == 80)], "below the difference where there is less room"


def test_a_spread_much_smaller_than_a_hundredth_is_not_shown_as_none() -> None:
    results = [*runs("tied", [4.0, 4.00001, 4.00002]), *runs("untied", [4.0, 4.0, 4.0])]
    perplexities = [math.exp(4 + change) for change in (0, 1e-5, 2e-5)]
    sd = math.sqrt(sum((value - sum(perplexities) / 3) ** 2 for value in perplexities) / 2)
    assert f"± {sd:.5f}" in shown(compare(results))


def test_the_details_begin_with_a_sentence_of_each_variant() -> None:
    comparison = example_comparison()
    text = unwrapped(shown(comparison, details=True))
    for sentence in variant_sentences(comparison).values():
        assert sentence in text
        assert sentence not in unwrapped(shown(comparison))


def test_one_machine_is_named_once_and_several_at_each_variant() -> None:
    text = unwrapped(shown(example_comparison(), details=True))
    assert "All runs were on cpu (Any CPU)." in text
    assert "device cpu cpu " in text
    other = effective(device_name="Another CPU")
    text = unwrapped(
        shown(compare([*runs("tied", TIED_NATS, effective=other), *runs("untied", UNTIED_NATS)]), 120, True)
    )
    assert "device cpu (Another CPU) cpu (Any CPU)" in text
    assert "All runs were on" not in text


_SHOW = """
import sys, pathlib
from rich.console import Console
from tiedlm.comparison.comparison import load_comparison
from tiedlm.report.figures.variant_sentences import variant_sentences
from tiedlm.report.formats.terminal import render_comparison
render_comparison(load_comparison(pathlib.Path(sys.argv[1])), Console(), details=True)
assert not {"torch", "scipy", "numpy", "datasets", "tokenizers"} & sys.modules.keys()
"""


@pytest.mark.parametrize("extra", [{"COLUMNS": "40"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}])
def test_a_stored_comparison_is_printed_into_a_pipe_without_heavy_imports(
    tmp_path: Path, extra: dict[str, str]
) -> None:
    comparison = example_comparison()
    store_comparison(comparison, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", _SHOW, str(tmp_path)], capture_output=True, env={**os.environ, **extra}, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode("ascii" if "LC_ALL" in extra else "utf-8")
    for row in main_table(comparison).rows:
        for cell in row.cells:
            assert any(cell.replace("±", "+/-" if "LC_ALL" in extra else "±") in line for line in text.splitlines())
    assert max(map(len, text.splitlines())) <= int(extra.get("COLUMNS", 80))
    assert "\x1b" not in text


TABLE = Table(("one", "two"), (Row.of("size", ["1", "2"]),), title="Sizes")
SECTION = Section(
    "Size",
    remarks=lambda comparison: [f"The size of {comparison.experiment}."],
    tables=lambda comparison: [TABLE],
    notes=lambda comparison: ["Sizes are whole."],
)


def with_sections(*sections: Section, details: bool) -> str:
    stream = io.StringIO()
    render_comparison(example_comparison(), Console(file=stream, width=100), details, sections)
    return stream.getvalue()


def test_a_section_shows_its_remarks_at_a_glance_and_its_tables_and_notes_among_the_details() -> None:
    glance, details = (with_sections(SECTION, details=each) for each in (False, True))
    assert "The size of example." in glance and "The size of example." in details
    assert "Sizes" not in glance
    assert details.index("SHA-256") < details.index("Sizes") < details.index("Sizes are whole.")


def test_an_appendix_is_last_with_its_notes_below_its_tables() -> None:
    appendix = replace(SECTION, is_appendix=True)
    text = with_sections(appendix, Section("Other", notes=lambda comparison: ["Another note."]), details=True)
    assert text.index("Another note.") < text.index("Sizes") < text.index("Sizes are whole.")
    assert text.endswith("Sizes are whole.\n")
