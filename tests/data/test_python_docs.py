"""The corpus that comes with Python: enough English, the same each time, prepared once."""

import sys
from typing import Any

import pytest

from tests.support.preparing import prepare_elsewhere
from tiedlm.data.config import SPLITS, Split
from tiedlm.data.counting import count_text
from tiedlm.data.documents import Text
from tiedlm.data.python_docs import PythonDocs
from tiedlm.talk import SILENT


def joined(rows: Any) -> str:
    return "".join(row.text for row in rows)


@pytest.fixture(scope="module")
def reading() -> tuple[Text, set[str]]:
    before = set(sys.modules)
    text = PythonDocs().read(SILENT)
    return text, set(sys.modules) - before


@pytest.fixture(scope="module")
def python_docs(reading: tuple[Text, set[str]]) -> Text:
    return reading[0]


def test_the_embedded_corpus_never_imports_what_it_reads(reading: tuple[Text, set[str]]) -> None:
    imported = {name for name in reading[1] if not name.startswith("encodings.")}  # of sources not in UTF-8
    assert imported <= {"pydoc_data", "pydoc_data.topics"}


def test_the_embedded_corpus_is_enough_english_in_each_split(python_docs: Text) -> None:
    counts = count_text(python_docs).splits
    total = sum(split.bytes for split in counts.values())
    assert total > 1_000_000
    assert all(0.05 < counts[split].bytes / total <= 0.08 for split in ("validation", "test"))
    for split in SPLITS:
        words = joined(python_docs[split]).lower().split()
        assert words.count("the") / len(words) > 0.03, "English has a `the` in twenty words"


@pytest.mark.parametrize("held_out", ["validation", "test"])
def test_under_two_percent_of_held_out_8_grams_stand_in_train(python_docs: Text, held_out: Split) -> None:
    known = set(_grams(joined(python_docs["train"]).split()))
    own = _grams(joined(python_docs[held_out]).split())
    assert sum(gram in known for gram in own) / len(own) < 0.02


def _grams(words: list[str]) -> list[tuple[str, ...]]:
    return list(zip(*(words[shift:] for shift in range(8)), strict=False))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """The corpus prepared by one process, and then by another one."""
    config = {"corpus": {"type": "python-docs"}, "tokenizer": {"type": "bpe", "vocab_size": 300}, "seq_len": 8}
    cache = tmp_path_factory.mktemp("cache")
    return prepare_elsewhere(config, cache), prepare_elsewhere(config, cache)


def test_the_embedded_corpus_comes_out_the_same_each_time(python_docs: Text, prepared: tuple[Any, Any]) -> None:
    """In this process and in another one."""
    first, _ = prepared
    counts = count_text(python_docs)
    assert first["corpus_sha256"] == counts.sha256
    assert first["counts"] == {name: split.model_dump() for name, split in counts.splits.items()}


def test_a_warm_start_leaves_the_slow_libraries_alone(prepared: tuple[Any, Any]) -> None:
    first, again = prepared
    assert "tokenizers" in first["imported"] and again["imported"] == []
    assert again["tokens_sha256"] == first["tokens_sha256"]
    assert again["caption"] == "the embedded corpus, not WikiText-103"
    assert again["details"]["python"] == ".".join(map(str, sys.version_info[:3]))


def test_rows_of_the_embedded_corpus_end_in_one_newline_and_carry_no_trailing_space(python_docs: Text) -> None:
    for split in SPLITS:
        assert all(row.text.count("\n") == 1 and row.text.endswith("\n") for row in python_docs[split])
