"""A mean over seeds is of runs that were made in one way, on one text; others are named and make no figure."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.finished_runs import (
    compared,
    effective,
    example_comparison,
    hashes,
    run_result,
    split_result,
    summarize,
)
from tiedlm.comparison.comparison import load_comparison, store_comparison
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.pooling import UnlikeRunsError, check_alike, check_stored_alike
from tiedlm.comparison.question import Question
from tiedlm.comparison.reported import reported
from tiedlm.config.base import ConfigError
from tiedlm.run.result import RunResult

CORPUS = run_result().corpus
OTHER_TEXT = {"corpus": "0ther7e7" * 8, "tokens": "0ther70c" * 8}


def pairs_of(second: dict[str, Any]) -> list[RunResult]:
    """Two seeds of tied and untied; both runs of the second seed were made otherwise, so that each pair is equal."""
    first = [run_result(variant, 0) for variant in ("tied", "untied")]
    return [*first, *(run_result(variant, 1, **second) for variant in ("tied", "untied"))]


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ({"hashes": hashes(1, **OTHER_TEXT)}, "text: WikiText-103 (wikitext-103-v1) c0c0c0c0 ("),
        ({"hashes": hashes(1, tokens="abcdefghij")}, "tokens: byte-level BPE, 32,000 types (70cecece) ("),
        ({"splits": {"test": split_result(4.0, stride=64)}}, "windows of test: 512 tokens every 512 ("),
        ({"effective": effective(precision="bf16")}, "precision: fp32 ("),
        ({"effective": effective(device="cuda:0", device_name="H200")}, "device: cpu (Any CPU) ("),
        ({"effective": effective(compile=True)}, "compile: off ("),
        ({"effective": effective(micro_batch_size=8)}, "micro-batch size: 16 ("),
        ({"effective": effective(head="full")}, "head: lean ("),
        ({"effective": effective(arithmetic=None)}, "tiedlm's arithmetic: 4 ("),
        ({"versions": {"torch": "2.11.0", "python": "3.11.7"}}, "torch version: 2.13.0 ("),
    ],
)
def test_seeds_that_differ_in_what_decides_their_numbers_are_not_pooled(second: dict[str, Any], words: str) -> None:
    with pytest.raises(UnlikeRunsError) as error:
        summarize(pairs_of(second), [], "example", "untied", ["tied", "untied"])
    message = str(error.value)
    assert words + "tied seed 0, untied seed 0) against " in message
    assert "(tied seed 1, untied seed 1); compare the folders of runs that agree" in message
    assert "--fresh" in message and len(message.splitlines()) == 1


@pytest.mark.parametrize(
    "second",
    [
        {},
        {"versions": {"torch": "2.13.0", "python": "3.12.1", "numpy": "9"}},
        {"effective": effective(num_threads=7)},
        {"seconds": 1.0, "first_loss": 3.0},
        {"tokens_seen": 100_007_900},  # of whole epochs the last window may be short
    ],
)
def test_what_no_number_depends_on_is_no_difference(second: dict[str, Any]) -> None:
    check_alike(pairs_of(second))


def test_the_python_version_counts_where_its_documentation_is_the_text() -> None:
    config = run_result().config | {"data": {"corpus": {"type": "python-docs"}}}
    newer = {"torch": "2.13.0", "python": "3.12.1"}
    runs = [run_result("tied", 0, config=config), run_result("tied", 1, config=config, versions=newer)]
    with pytest.raises(UnlikeRunsError, match="Python version"):
        check_alike(runs)


def test_variants_that_ask_for_one_text_have_one_text() -> None:
    """Not only seeds of one variant: one row would be of one text, the next of another."""
    with pytest.raises(UnlikeRunsError, match=r"text: .*tied seed 0\) against .*untied seed 0\)"):
        check_alike([run_result("tied", 0), run_result("untied", 0, hashes=hashes(0, **OTHER_TEXT))])


def test_variants_that_ask_for_two_texts_are_no_pair_and_are_shown() -> None:
    config = run_result().config | {"data": {"corpus": {"type": "text", "file": "other.txt"}}}
    check_alike([run_result("tied", 0), run_result("untied", 0, config=config, hashes=hashes(0, **OTHER_TEXT))])


def test_variants_on_two_machines_are_no_pair_and_are_shown() -> None:
    check_alike([run_result("tied", 0), run_result("untied", 0, effective=effective(precision="bf16"))])


def test_many_runs_are_counted_and_not_all_named() -> None:
    runs = [run_result("tied", seed) for seed in range(9)]
    other = run_result("tied", 9, effective=effective(precision="bf16"))
    with pytest.raises(UnlikeRunsError, match=r"tied seed 3 and 5 more\) against bf16 \(tied seed 9\)"):
        check_alike([*runs, other])


def test_every_comparison_is_made_of_runs_that_are_alike() -> None:
    with pytest.raises(ConfigError, match="no figure is made of them together"):
        FinishedRuns.of(pairs_of({"hashes": hashes(1, tokens="x")}), Question("example", "untied", ("tied", "untied")))


def test_what_an_older_version_stored_without_looking_is_not_reported(tmp_path: Path) -> None:
    stored = example_comparison(2)
    store_comparison(stored, tmp_path)
    assert reported([tmp_path]) == stored
    check_stored_alike(stored.model_copy(update={"corpus": None}))
    for variant in stored.variants:
        first, second = variant.runs
        second = second.model_copy(update={"hashes": hashes(1, **OTHER_TEXT)})
        variant.runs[:] = [first, second]
    store_comparison(stored, tmp_path)
    with pytest.raises(UnlikeRunsError, match="tied seed 1, untied seed 1"):
        reported([tmp_path])
    assert load_comparison(tmp_path) == stored, "it can still be read"


def test_one_text_under_two_paths_is_no_difference_between_the_configs() -> None:
    def with_text(variant: str, path: str, **changes: Any) -> RunResult:
        corpus = {"type": "text", "file": path}
        return run_result(variant, config=run_result(variant).config | {"data": {"corpus": corpus}}, **changes)

    same = compared(with_text("tied", "/a/book.txt"), with_text("untied", "book.txt"))
    assert {*same.differences[0].config_differences} == {"model.tying.type"}
    other = compared(with_text("tied", "a.txt", hashes=hashes(0, **OTHER_TEXT)), with_text("untied", "b.txt"))
    assert {*other.differences[0].config_differences} == {"data.corpus.file", "model.tying.type"}
