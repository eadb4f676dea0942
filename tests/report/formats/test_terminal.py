"""What the terminal shows of a comparison."""

import io
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

GPU_MEMORY = Memory(
    gpu_peak_allocated_bytes=3 * 2**30 + 2**19,
    gpu_peak_reserved_bytes=4 * 2**30,
    predicted_peak_bytes=2**30,
    host_peak_rss_bytes=2**30,
)


def shown(comparison: Comparison, width: int = 100, details: bool = False, stored_in: Path | None = None) -> str:
    stream = io.StringIO()
    render_comparison(comparison, Console(file=stream, width=width), details, stored_in=stored_in)
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


def test_one_screen_holds_all_that_it_must_and_the_verdict_last() -> None:
    comparison = example_comparison()
    lines = shown(comparison, 80, stored_in=Path("runs/example")).splitlines()
    assert len(lines) <= 21, "the command above and the prompt below it stay on the screen"
    text, test = unwrapped("\n".join(lines)), comparison.variants[0].splits["test"]
    assert text.endswith(comparison.verdict)
    for words in (
        "parameters 124,439,808 163,037,184",
        "against untied -38,597,376 (-23.7 %) baseline",
        f"test perplexity {test.token_perplexity:.2f} ± {test.token_perplexity_sd:.2f}",
        "test difference -0.0312 [-0.0349, -0.0275] baseline",
        "peak GPU memory no GPU no GPU",
        "peak host memory, max 1,177.4 MiB",
        "tokens/s, mean 97,804",
        "below 0 favours tied, above 0 favours untied",
        "start and batches were equal; they differ in: model.tying.type.",
        "Stored in runs/example (--details shows everything)",
        "On WikiText-103 (wikitext-103-v1); V=32,000, D=768, 100M tokens, fp32, 5 seeds; adamw at 0.0006, ",
    ):
        assert words in text, words
    for left_out in ("FLOPs", "per word", "nll", "Break-even", "validation", "bootstrap", "Text:"):
        assert left_out not in text, left_out


def test_the_details_hold_the_rest_and_end_as_the_screen_does() -> None:
    screen, details = (shown(example_comparison(), 80, details=each) for each in (False, True))
    assert details.endswith(screen)
    text = unwrapped(details)
    tied = example_comparison().variants[0]
    for words in (
        "shared embedding 38,597,376 0",
        "FLOPs per token 741,857,280",
        f"train nll per token {tied.splits['train'].nats_per_token:.4f}",
        f"validation nll per token {tied.splits['validation'].nats_per_token:.4f}",
        "(unigram) reach a test perplexity of 1,000.00",
        "Tying saves 38,597,376 parameters: tied has 23.7 % fewer than untied.",
    ):
        assert words in text, words


@pytest.mark.parametrize("changes", [{}, {"memory": GPU_MEMORY, "effective": effective(device="cuda")}])
def test_memory_of_the_gpu_and_of_the_host_have_a_row_each_wherever_it_ran(changes: dict[str, Any]) -> None:
    text = unwrapped(shown(example_comparison(**changes), 80))
    assert ("peak GPU memory no GPU no GPU" in text) == (not changes)
    assert ("peak GPU memory, max 3,072.5 MiB 3,072.5 MiB" in text) == bool(changes)
    assert "peak host memory, max" in text


def test_keys_in_which_the_variants_differ_stand_beside_an_equal_start() -> None:
    config = runs("tied", TIED_NATS)[0].config
    scaled = config | {"model": config["model"] | {"tying": {"type": "tied", "input_scale": 11.3}}}
    text = unwrapped(shown(compare([*runs("tied", TIED_NATS, config=scaled), *runs("untied", UNTIED_NATS)]), 80))
    assert "differ in: model.tying.type, model.tying.input_scale (11.3 against null)." in text
    assert "input scale 11.3 (tied) and 1 (untied)" in text, "among the conditions of the verdict"


def test_one_seed_is_shown_as_one_seed_and_why_it_has_neither_spread_nor_interval() -> None:
    text = unwrapped(shown(example_comparison(num_seeds=1), details=True))
    assert "seeds one seed one seed" in text
    assert "test difference (tied): no interval, one seed has no spread." in text
    assert "no ±, one seed has no spread." in text
    assert "[" not in text, "an interval"


def test_a_figure_that_is_absent_has_its_reason_beside_it() -> None:
    huge = example_comparison(splits={"test": split_result(800.0)})
    why = "test perplexity: none, exp of 800.0 nats per token is beyond the largest number of float64."
    assert why in unwrapped(shown(huge, 80))
    no_spaces = example_comparison(splits={"test": split_result(4.0, words=59, bytes=4_022)})
    assert "test perplexity per word: none, the text does not put white space" in unwrapped(
        shown(no_spaces, 80, details=True)
    )


def test_an_embedded_text_is_called_that_and_not_wikitext() -> None:
    corpus = Corpus(caption="the embedded corpus, not WikiText-103", details={}, vocab_size=4_096, tokenizer="bytes")
    text = unwrapped(shown(example_comparison(corpus=corpus), details=True))
    assert "On the embedded corpus, not WikiText-103; V=4,096" in text
    assert "Text: the embedded corpus, not WikiText-103; bytes" in text


def test_runs_that_are_no_pairs_say_why_and_show_no_interval() -> None:
    comparison = compare(
        [*runs("tied", TIED_NATS, effective=effective(precision="bf16")), *runs("untied", UNTIED_NATS)]
    )
    text = unwrapped(shown(comparison))
    assert "better on test: the runs are not pairs (precision differs: bf16 against fp32)." in text
    assert "tied and untied are not pairs; they differ in: model.tying.type." in text
    assert "[" not in text


def test_a_comparison_of_nothing_but_failures_is_shown() -> None:
    failure = RunFailure(variant="untied", seed=1, kind="diverged", message="the loss is not finite")
    text = shown(compare([], failures=[failure]), details=True)
    assert text.splitlines()[-1].startswith("No run has finished")
    assert "diverged" in text


def test_several_variants_get_a_line_of_the_verdict_each() -> None:
    comparison = compare([*runs("a", TIED_NATS), *runs("b", UNTIED_NATS), *runs("untied", UNTIED_NATS)])
    lines = shown(comparison, 120).splitlines()[-4:]
    assert lines[0].endswith(":")
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
    lines = shown(over_documents((-0.03412, -0.02891)), 80, details=True).splitlines()
    (row,) = [index for index, line in enumerate(lines) if "over 60 documents" in line]
    assert lines[row - 1].startswith("test difference")
    assert lines[row].split() == ["over", "60", "documents", "[-0.0341,", "-0.0289]", "baseline"]
    assert "bootstrap of the text; these checkpoints alone, not other seeds." in unwrapped("\n".join(lines))
    assert "over 60 documents" not in shown(over_documents(None), 80)
    details = unwrapped(shown(over_documents(None), 80, details=True))
    assert "over documents (tied): none, the scores of each token of tied, seed 0, are not there." in details


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


def test_the_details_begin_with_a_sentence_of_each_variant() -> None:
    comparison = example_comparison()
    text = unwrapped(shown(comparison, details=True))
    for sentence in variant_sentences(comparison).values():
        assert sentence in text
        assert sentence not in unwrapped(shown(comparison))


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
            plain = cell.replace("±", "+/-").replace("–", "-") if "LC_ALL" in extra else cell
            assert any(plain in line for line in text.splitlines())
    assert max(map(len, text.splitlines())) <= int(extra.get("COLUMNS", 80))
    assert "\x1b" not in text


TABLE = Table(("one", "two"), (Row.of("size", ["1", "2"]),), title="Sizes")
SECTION = Section(
    "Size",
    at_a_glance=lambda comparison: ["It is large."],
    remarks=lambda comparison: [f"The size of {comparison.experiment}."],
    tables=lambda comparison: [TABLE],
    notes=lambda comparison: ["Sizes are whole."],
)


def with_sections(*sections: Section, details: bool) -> str:
    stream = io.StringIO()
    render_comparison(example_comparison(), Console(file=stream, width=100), details, sections)
    return stream.getvalue()


def test_a_section_shows_one_sentence_at_a_glance_and_its_remarks_tables_and_notes_among_the_details() -> None:
    glance, details = (with_sections(SECTION, details=each) for each in (False, True))
    assert "It is large." in glance and "It is large." in details
    assert "The size of example." not in glance and "The size of example." in details
    assert "Sizes" not in glance
    assert details.index("SHA-256") < details.index("Sizes") < details.index("Sizes are whole.")


def test_an_appendix_is_the_last_of_the_details_with_its_notes_below_its_tables() -> None:
    appendix = replace(SECTION, is_appendix=True)
    text = with_sections(appendix, Section("Other", notes=lambda comparison: ["Another note."]), details=True)
    assert text.index("Another note.") < text.index("Sizes") < text.index("Sizes are whole.")
    assert text.index("Sizes are whole.") < text.index("It is large."), "above the screen that ends all output"
