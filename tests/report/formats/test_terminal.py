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
from tiedlm.run.result import Corpus, RunFailure


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
