"""Held-out text that stands in the train split: at a glance where it is much, under the details in any case."""

import io

import pytest
from rich.console import Console

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, compared, example_comparison, run_result, runs
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.summarize import summarize_one_run
from tiedlm.report.commands.train import render_run
from tiedlm.report.figures.context import warnings
from tiedlm.report.figures.notes import detail_notes
from tiedlm.report.formats.html import comparison_html
from tiedlm.report.formats.markdown import comparison_markdown
from tiedlm.report.formats.notebook import comparison_fragment, run_fragment
from tiedlm.report.formats.terminal import render_comparison
from tiedlm.run.result import Corpus, SplitOverlap


def comparison(documents: tuple[int, int], runs_of_words: tuple[int, int]) -> Comparison:
    test = SplitOverlap(
        documents=documents[1],
        documents_in_train=documents[0],
        sampled_8grams=runs_of_words[1],
        sampled_8grams_in_train=runs_of_words[0],
    )
    none = SplitOverlap(documents=60, documents_in_train=0, sampled_8grams=20_000, sampled_8grams_in_train=0)
    known = run_result("tied").corpus.model_dump()
    corpus = Corpus.model_validate({**known, "overlap": {"validation": none, "test": test}})
    return compared(*runs("tied", TIED_NATS, corpus=corpus), *runs("untied", UNTIED_NATS, corpus=corpus))


@pytest.mark.parametrize(
    ("documents", "runs_of_words", "words"),
    [
        ((12, 60), (310, 20_000), "12 of 60 documents, 1.55 % of 20,000 sampled 8-grams of words"),
        ((1, 60), (1_820, 20_000), "1 of 60 documents, 9.10 % of 20,000 sampled 8-grams of words"),
        ((3, 60), (0, 0), "3 of 60 documents; none has 8 words in a row"),
    ],
)
def test_above_2_percent_of_either_it_is_said_at_a_glance(
    documents: tuple[int, int], runs_of_words: tuple[int, int], words: str
) -> None:
    said = [line for line in warnings(comparison(documents, runs_of_words)) if "stands in train" in line]
    assert said == [f"Text of test that stands in train too: {words}."]


@pytest.mark.parametrize("form", ["terminal", "html", "markdown", "notebook", "train", "run in a notebook"])
def test_above_2_percent_it_is_said_without_being_asked_for(form: str) -> None:
    found = comparison((60, 60), (20_000, 20_000))
    assert found.corpus is not None
    run, stream = run_result("tied", corpus=found.corpus), io.StringIO()
    match form:
        case "terminal":
            render_comparison(found, Console(file=stream, width=500))
        case "train":
            render_run(run, Console(file=stream, width=500))
        case _:
            made = {"html": comparison_html, "markdown": comparison_markdown, "notebook": comparison_fragment}
            alone = summarize_one_run(run)
            stream.write(run_fragment(alone, "a run") if form not in made else made[form](found))
    assert "Text of test that stands in train too: 60 of 60 documents" in stream.getvalue()


def test_up_to_2_percent_it_is_said_under_the_details_alone() -> None:
    found = comparison((1, 60), (400, 20_000))
    assert not [line for line in warnings(found) if "stands in train" in line]
    assert [line for line in detail_notes(found) if "stands in train" in line] == [
        "test text that stands in train too: 1 of 60 documents, 2.00 % of 20,000 sampled 8-grams of words.",
        "validation text that stands in train too: 0 of 60 documents, 0.00 % of 20,000 sampled 8-grams of words.",
    ]


def test_a_run_stored_before_it_was_measured_takes_it_from_another_of_the_same_text() -> None:
    corpus = comparison((12, 60), (0, 0)).corpus
    older, newer = runs("tied", TIED_NATS), runs("untied", UNTIED_NATS, corpus=corpus)
    assert any("12 of 60 documents" in line for line in warnings(compared(*older, *newer)))
    assert not any("12 of 60 documents" in line for line in warnings(compared(*older, *runs("untied", UNTIED_NATS))))


def test_of_runs_stored_before_it_was_measured_that_is_said() -> None:
    older = example_comparison()
    assert not [line for line in warnings(older) if "stands in train" in line]
    assert any("not measured when these runs were trained" in line for line in detail_notes(older))
