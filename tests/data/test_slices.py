"""Slices are read as `datasets` reads them, and two splits have no rows in common."""

import itertools

import pytest
from datasets import ReadInstruction

from tiedlm.config.base import ConfigError, parse
from tiedlm.data.config import DataConfig
from tiedlm.data.open_corpus import open_corpus
from tiedlm.data.slices import parse_slices

PERCENTS = ["train", "train[:90%]", "train[90%:]", "train[90%:95%]", "train[-10%:]", "train[:-10%]", "train[50:60%]"]
ROWS = ["train", "train[:10]", "train[10:20]", "train[15:1_000]", "train[90:]", "test[:10]", "test+train[95:]"]
FROM_THE_END = ["train[-5:]", "train[:-5]", "train[:10]", "train[90%:]"]


def rows_of(text: str) -> set[tuple[str, int]]:
    absolute = ReadInstruction.from_spec(text).to_absolute({"train": 200, "test": 200})
    return {(each.splitname, row) for each in absolute for row in range(each.from_, each.to)}


def overlap(one: str, other: str) -> bool:
    return any(a.overlaps(b) for a in parse_slices(one, "") for b in parse_slices(other, ""))


@pytest.mark.parametrize("texts", [PERCENTS, ROWS], ids=["percents", "rows"])
def test_slices_overlap_where_the_library_gives_both_of_them_a_row(texts: list[str]) -> None:
    for one, other in itertools.product(texts, repeat=2):
        assert overlap(one, other) == bool(rows_of(one) & rows_of(other)), (one, other)


def test_what_only_the_number_of_rows_can_tell_is_not_refused_before_it_is_known() -> None:
    for one, other in itertools.combinations(FROM_THE_END, 2):
        assert not overlap(one, other)
    assert overlap("train", "train[:5]") and overlap("train", "train[5%:]")


def check(**slices: str) -> None:
    corpus = {"type": "hub", "id": "someone/Stories", **slices}
    open_corpus(parse(DataConfig, {"corpus": corpus, "tokenizer": {"type": "byte"}, "seq_len": 8}).corpus).check()


def test_a_test_slice_of_the_whole_train_split_is_refused_with_both_keys() -> None:
    with pytest.raises(ConfigError) as caught:
        check(test="train[95%:]")
    assert str(caught.value) == (
        'data.corpus.test: "train[95%:]" has rows that data.corpus.train ("train") has too; splits must not overlap: '
        "train[:90%], train[90%:95%] and train[95%:] do not"
    )
    check(train="train[:90%]", validation="train[90%:95%]", test="train[95%:]")


def test_slices_of_wikitext_by_its_id_are_looked_at_too() -> None:
    corpus = {"type": "hub", "id": "wikitext", "config": "wikitext-2-v1", "validation": "test[:10]"}
    with pytest.raises(ConfigError, match=r'data.corpus.test: "test" has rows that data.corpus.validation'):
        open_corpus(parse(DataConfig, {"corpus": corpus, "tokenizer": {"type": "byte"}, "seq_len": 8}).corpus).check()


@pytest.mark.parametrize("text", ["train[95%]", "train[:x]", "", "train[_:]", "train[1:2:3]"])
def test_what_is_no_slice_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"data.corpus.train: .*must be a split or slices of splits"):
        check(train=text)
