"""Finished runs know which variants are judged, on which split, and what a reader must be told."""

from typing import Any

import pytest

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, run_result, runs, split_result
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.question import Question
from tiedlm.config.base import ConfigError
from tiedlm.run.added import Added
from tiedlm.run.result import RunResult


def finished(*results: RunResult, **question: Any) -> FinishedRuns:
    names = tuple(dict.fromkeys(result.variant for result in results))
    return FinishedRuns.of(results, Question(**{"name": "example", "baseline": "untied", "order": names} | question))


def added(results: list[RunResult], role: str, of: str) -> list[RunResult]:
    config = {"added": {"role": role, "of": of}}
    return [run.model_copy(update={"config": run.config | config}) for run in results]


def test_variants_stand_in_the_order_asked_for_and_their_runs_by_seed() -> None:
    results = [run_result("b", 1), run_result("untied", 0), run_result("a", 3), run_result("a", 2)]
    made = finished(*results, order=("a", "missing", "untied"))
    assert {variant: [run.seed for run in members] for variant, members in made.by_variant.items()} == {
        "a": [2, 3],
        "untied": [0],
        "b": [1],
    }
    assert list(made.by_variant) == ["a", "untied", "b"]
    assert (made.num_seeds, len(made.every_run), len(made.baseline_runs)) == (4, 4, 1)


def test_one_variant_and_seed_is_one_run() -> None:
    with pytest.raises(ConfigError, match="both tied with seed 3"):
        finished(run_result("tied", 3), run_result("tied", 3))


def test_what_the_plan_added_is_not_of_the_file_unless_it_is_the_baseline() -> None:
    redrawn = added(runs("untied+redrawn", UNTIED_NATS), "noise_floor", "untied")
    results = [*redrawn, *runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS)]
    made = finished(*results)
    assert made.added("untied+redrawn") == Added(role="noise_floor", of="untied")
    assert made.added("tied") is None
    assert made.variants_of_file == ["tied", "untied"]
    assert made.primary == "tied", "the first in the order that is neither the baseline nor added"
    assert {difference.variant for difference in made.differences} == {"tied"}
    assert made.contrasts.keys() == {"untied+redrawn", "tied"}, "measured, for the analyses that read it"
    assert finished(*results, baseline="untied+redrawn").variants_of_file == ["untied+redrawn", "tied", "untied"]


def test_the_split_that_decides_is_test_where_all_runs_in_question_scored_it() -> None:
    validated = {"validation": split_result(4.0)}
    made = finished(run_result("tied", 0), run_result("untied", 0), run_result("soft", 0, splits=validated))
    assert made.deciding_split("tied", "untied") == "test"
    assert made.deciding_split("tied", "soft") == made.deciding_split() == "validation"
    assert finished(run_result("tied", 0, splits={"train": split_result(4.0)})).deciding_split() is None


def test_without_the_baseline_nothing_is_measured() -> None:
    made = finished(*runs("tied", TIED_NATS))
    assert (made.contrasts, made.differences, list(made.baseline_runs)) == ({}, [], [])


def test_lost_intervals_are_told_of_where_scores_could_have_been_there() -> None:
    results = [*runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS)]
    assert list(finished(*results).notes()) == []
    question = Question("example", "untied", ("tied", "untied"))
    (note,) = FinishedRuns.of(results, question, lambda run, split: None).notes()
    reason = "the scores of each token of tied, seed 0, are not there"
    assert note == f"tied: no interval over the documents of test and validation, for {reason}."
