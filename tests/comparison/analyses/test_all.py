"""A comparison holds the answer of every analysis in the list, and gives it back by its schema."""

import json
from pathlib import Path

import pytest

from tests.support.finished_runs import UNTIED_NATS, example_comparison, runs, summarize
from tiedlm.comparison.analyses.all import ANALYSES
from tiedlm.comparison.analyses.budget import Budget
from tiedlm.comparison.analyses.frequency import Frequency
from tiedlm.comparison.comparison import load_comparison, store_comparison
from tiedlm.config.base import Config


def test_the_document_has_a_key_for_each_analysis_in_their_order_and_null_where_there_is_nothing() -> None:
    alone = summarize(runs("untied", UNTIED_NATS), [], "example", "untied", ["untied"])
    for comparison in (example_comparison(), alone):
        document = comparison.model_dump(mode="json")
        keys = list(document)
        first = keys.index("tuning") + 1
        assert keys[first : first + len(ANALYSES) + 1] == [*(each.key for each in ANALYSES), "failures"]
        assert list(json.loads(comparison.model_dump_json())) == keys
        for each in ANALYSES:
            answer = comparison.analysis(each.schema)
            assert document[each.key] == (None if answer is None else answer.model_dump(mode="json"))
    assert alone.analysis(Budget) is None


def test_answers_are_read_back_by_their_schema(tmp_path: Path) -> None:
    comparison = example_comparison()
    store_comparison(comparison, tmp_path)
    read = load_comparison(tmp_path)
    for each in ANALYSES:
        assert read.analysis(each.schema) == comparison.analysis(each.schema)
    assert isinstance(read.analysis(Budget), Budget) and isinstance(read.analysis(Frequency), Frequency)


def test_a_schema_that_is_not_in_the_list_is_the_programmers_fault() -> None:
    with pytest.raises(ValueError):
        example_comparison().analysis(Config)


def test_no_two_analyses_share_a_key_or_a_schema() -> None:
    assert len({each.key for each in ANALYSES}) == len({each.schema for each in ANALYSES}) == len(ANALYSES)
