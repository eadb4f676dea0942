"""What of validation and test stands in train, against sets of documents and of runs of words."""

import random
from pathlib import Path

import pytest

from tiedlm.config.base import parse
from tiedlm.data import overlap
from tiedlm.data.config import SPLITS, DataConfig
from tiedlm.data.counting import TextCounts, count_text
from tiedlm.data.documents import Row, Text
from tiedlm.data.overlap import HELD_OUT, measure_overlap
from tiedlm.data.prepare import find_prepared, prepare

Document = list[str]
"""Its rows, without the newline at their ends."""


def made_up(seed: int, num_documents: int, words: int = 12) -> list[Document]:
    """Documents of few different words, some blank, some of one row and some of many."""
    draw = random.Random(seed)
    vocabulary = ["a", "ē", "word", "word.", "日本", "b" * 40, "c", "c\0"]
    rows = [[" ".join(draw.choices(vocabulary, k=draw.randint(0, words))) for _ in range(draw.randint(1, 4))]]
    for _ in range(num_documents - 1):
        rows.append([" ".join(draw.choices(vocabulary, k=draw.randint(0, words))) for _ in range(draw.randint(1, 4))])
    return rows


def text_of(**splits: list[Document]) -> Text:
    return {
        split: [Row(f"{row}\n", index == 0) for document in splits[split] for index, row in enumerate(document)]
        for split in SPLITS
    }


def measured(text: Text) -> dict[str, tuple[int, int, int, int]]:
    found = measure_overlap(text, count_text(text).splits)
    return {split: tuple(found[split].model_dump().values()) for split in HELD_OUT}


def words_of(document: Document) -> tuple[str, ...]:
    return tuple(" ".join(document).split())


def runs_of(document: Document) -> list[tuple[str, ...]]:
    words = words_of(document)
    return [words[begin : begin + 8] for begin in range(len(words) - 7)]


def config_of(path: Path) -> DataConfig:
    corpus = {"type": "text", "file": str(path)}
    return parse(DataConfig, {"corpus": corpus, "tokenizer": {"type": "byte"}, "seq_len": 8})


@pytest.mark.parametrize("batch_bytes", [1 << 19, 3000, 500])
def test_documents_and_runs_of_words_are_those_that_sets_of_them_have(
    batch_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the size of a batch, across which documents and runs go on."""
    monkeypatch.setattr(overlap, "_BATCH_BYTES", batch_bytes)
    train = [*made_up(0, 300), *made_up(9, 300, words=3)]
    held_out = {"validation": [*made_up(1, 50), *train[40:50]], "test": [*made_up(2, 60, words=4), *train[300:320]]}
    found = measured(text_of(train=train, **held_out))
    in_train = {words_of(document) for document in train}
    runs_in_train = {run for document in train for run in runs_of(document)}
    for split, documents in held_out.items():
        with_words = [words for words in map(words_of, documents) if words]
        runs = [run for document in documents for run in runs_of(document)]
        numbers = sum(words in in_train for words in with_words), sum(run in runs_in_train for run in runs)
        assert found[split] == (len(with_words), numbers[0], len(runs), numbers[1])
        assert 10 <= numbers[0] < len(with_words)


def test_white_space_makes_no_other_text_but_the_order_of_words_does() -> None:
    text = text_of(train=[["a b", "", " c  "]], validation=[["a b c"], ["a", "b", "c", ""]], test=[["a c b"], ["a b"]])
    found = measured(text)
    assert (found["validation"][:2], found["test"][:2]) == ((2, 2), (2, 0))


def test_no_run_reaches_from_one_document_into_the_next() -> None:
    together, apart = [["a b c d e f g h"]], [["a b c d"], ["e f g h"]]
    assert measured(text_of(train=together, validation=apart, test=together))["validation"] == (2, 0, 0, 0)
    assert measured(text_of(train=apart, validation=apart, test=together))["test"] == (1, 0, 1, 0)


def test_a_row_longer_than_a_batch_is_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "_BATCH_BYTES", 100)
    row = " ".join(f"word{number}" for number in range(500))
    assert measured(text_of(train=[[row]], validation=[[row]], test=[["other"]]))["validation"][:2] == (1, 1)


def test_of_a_long_split_about_as_many_runs_are_sampled_as_asked_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlap, "_SAMPLES", 100)
    numbers = [str(number) for number in range(10_000)]
    text = text_of(train=[[" ".join(numbers[:5_000])]], validation=[["a"]], test=[[" ".join(numbers)]])
    documents, same, sampled, in_train = measured(text)["test"]
    assert (documents, same, sampled) == (1, 0, 100)
    assert in_train == 50


def test_overlap_is_measured_once_and_kept_with_the_counts_of_a_text(tmp_path: Path) -> None:
    paragraphs = [f"paragraph {number} of the book, which has ten words each" for number in range(40)]
    (tmp_path / "all.txt").write_text("\n\n".join([*paragraphs[:38], paragraphs[3], paragraphs[5]]))
    config = config_of(tmp_path / "all.txt")
    first = prepare(config, tmp_path / "cache")
    assert first.overlap is not None and first.overlap["test"].documents_in_train == 2
    again = find_prepared(config, tmp_path / "cache")
    assert again is not None and again.overlap == first.overlap


def test_it_is_measured_where_the_cache_of_an_older_version_lacks_it(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_text("".join(f"paragraph {number}\n\n" for number in range(40)))
    config = config_of(tmp_path / "all.txt")
    first = prepare(config, tmp_path / "cache")
    (stored,) = (tmp_path / "cache" / "texts").iterdir()
    counts = TextCounts.model_validate_json(stored.read_bytes())
    stored.write_text(counts.model_copy(update={"overlap": None}).model_dump_json(exclude_none=True))
    (ids,) = (tmp_path / "cache" / "tokens").glob("*/train.ids")
    written = ids.stat().st_mtime_ns
    older = find_prepared(config, tmp_path / "cache")
    assert older is not None and older.overlap is None
    again = prepare(config, tmp_path / "cache")
    assert (again.overlap, again.tokens_sha256) == (first.overlap, first.tokens_sha256)
    assert ids.stat().st_mtime_ns == written, "the tokens are those that were there"
