"""Preparing: once, under a key of everything that counts, and whole whatever happens meanwhile."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.preparing import answer_of, prepare_elsewhere, start_preparing
from tiedlm.config.base import ConfigError, parse
from tiedlm.data.cache_dir import default_cache_dir
from tiedlm.data.config import SPLITS, DataConfig
from tiedlm.data.prepare import PreparedData, find_prepared, prepare
from tiedlm.errors import RunError
from tiedlm.talk import Talk

TEXT = "".join(f"Line {number} of the text, ē.\n\nand {number * number}\n" for number in range(200))
BPE = {"type": "bpe", "vocab_size": 300}


class Heard(Talk):
    """Keeps what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def corpus(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "all.txt").write_text(TEXT, encoding="utf-8")
    return {"type": "text", "file": str(tmp_path / "all.txt"), "fractions": [0.8, 0.1, 0.1]}


def config_of(corpus: dict[str, Any], tokenizer: dict[str, Any] | None = None, seq_len: int = 8) -> DataConfig:
    return parse(DataConfig, {"corpus": corpus, "tokenizer": tokenizer or BPE, "seq_len": seq_len})


def token_folders(cache: Path) -> list[Path]:
    return sorted(path for path in (cache / "tokens").iterdir() if path.is_dir())


def same(one: PreparedData, other: PreparedData) -> bool:
    return one.tokens_sha256 == other.tokens_sha256 and one.corpus == other.corpus and one.notes == other.notes


def test_what_is_prepared_is_the_text(tmp_path: Path, corpus: dict[str, Any]) -> None:
    data = prepare(config_of(corpus), tmp_path / "cache")
    text = ""
    for name in SPLITS:
        split = data.split(name)
        ids = split.ids[1:].tolist()
        assert split.ids[0] == data.end_of_text and split.num_tokens == len(ids)
        assert ids.count(data.end_of_text) == split.documents == len(split.document_starts)
        own = data.decode(ids)
        assert (split.bytes, split.rows) == (len(own.encode()), own.count("\n"))
        assert split.words == len(own.split()) + split.rows
        text += own
    assert text == TEXT
    train = data.split("train").ids[1:]
    assert data.frequencies.tolist() == np.bincount(train, minlength=data.vocab_size).tolist()


def test_the_document_index_of_each_token_is_the_number_of_ends_before_it(
    tmp_path: Path, corpus: dict[str, Any]
) -> None:
    data = prepare(config_of(corpus), tmp_path / "cache")
    ids = data.split("test").ids[1:]
    ends = np.cumsum(ids == data.end_of_text)
    assert data.split("test").document_index().tolist() == [0, *ends[:-1].tolist()]
    assert data.split("test").document_index().dtype == np.int32


def test_a_second_time_nothing_is_read_said_or_written(tmp_path: Path, corpus: dict[str, Any]) -> None:
    cache, heard = tmp_path / "cache", Heard()
    first = prepare(config_of(corpus), cache)
    before = {path: path.stat().st_mtime_ns for path in cache.rglob("*")}
    assert same(prepare(config_of(corpus), cache, heard), first)
    assert heard.lines == []
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*")} == before


def test_what_was_not_prepared_is_not_found_and_what_was_is(tmp_path: Path, corpus: dict[str, Any]) -> None:
    assert find_prepared(config_of(corpus), tmp_path / "cache") is None
    data = prepare(config_of(corpus), tmp_path / "cache")
    found = find_prepared(config_of(corpus), tmp_path / "cache")
    assert found is not None and same(found, data)


def test_seq_len_does_not_determine_tokens_but_tokenizer_and_text_do(tmp_path: Path, corpus: dict[str, Any]) -> None:
    cache = tmp_path / "cache"
    first = prepare(config_of(corpus), cache)
    assert same(prepare(config_of(corpus, seq_len=16), cache), first)
    assert len(token_folders(cache)) == 1
    prepare(config_of(corpus, {"type": "bpe", "vocab_size": 301}), cache)
    prepare(config_of(corpus, {"type": "word"}), cache)
    assert len(token_folders(cache)) == 3


def test_a_text_changed_in_place_never_meets_its_old_tokens(tmp_path: Path, corpus: dict[str, Any]) -> None:
    path, cache = tmp_path / "all.txt", tmp_path / "cache"
    first, stat = prepare(config_of(corpus), cache), path.stat()
    path.write_text(TEXT.replace("Line 199", "Lime 199"), encoding="utf-8")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # same size, same time
    second = prepare(config_of(corpus), cache)
    assert second.corpus.sha256 != first.corpus.sha256
    assert "Lime 199" in second.decode(second.split("test").ids[1:].tolist())


def test_the_same_text_from_another_place_shares_its_tokens(tmp_path: Path, corpus: dict[str, Any]) -> None:
    cache = tmp_path / "cache"
    first = prepare(config_of(corpus), cache)
    (tmp_path / "copy.txt").write_bytes((tmp_path / "all.txt").read_bytes())
    second = prepare(config_of({**corpus, "file": str(tmp_path / "copy.txt")}), cache)
    assert second.tokens_sha256 == first.tokens_sha256 and len(token_folders(cache)) == 1
    assert (first.corpus.caption, second.corpus.caption) == ("own text (all.txt)", "own text (copy.txt)")


@pytest.mark.parametrize("name", ["train.ids", "meta.json", "test.starts"])
def test_damaged_tokens_are_made_again_and_it_is_said(tmp_path: Path, corpus: dict[str, Any], name: str) -> None:
    cache = tmp_path / "cache"
    first = prepare(config_of(corpus), cache)
    path = token_folders(cache)[0] / name
    path.write_bytes(path.read_bytes()[:-3])
    second = prepare(config_of(corpus), cache)
    assert second.tokens_sha256 == first.tokens_sha256
    assert [note.partition(" in ")[0] for note in second.notes] == ["the tokens"]
    assert same(prepare(config_of(corpus), cache), first)


@pytest.mark.parametrize("name", ["train.ids", "test.ids", "frequencies"])
def test_one_flipped_bit_that_changes_neither_size_nor_time_is_found_before_a_run(
    tmp_path: Path, corpus: dict[str, Any], name: str
) -> None:
    cache = tmp_path / "cache"
    first = prepare(config_of(corpus), cache)
    ids = first.split("train").ids.tolist()
    path = token_folders(cache)[0] / name
    stat, content = path.stat(), bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert find_prepared(config_of(corpus), cache) is not None, "at a glance it is what was written"
    again = prepare(config_of(corpus), cache, verify=True)
    assert [note.partition(" in ")[0] for note in again.notes] == ["the tokens"]
    assert again.split("train").ids.tolist() == ids
    assert (again.tokens_sha256, again.frequencies.tolist()) == (first.tokens_sha256, first.frequencies.tolist())
    assert prepare(config_of(corpus), cache, verify=True).notes == []


def test_what_an_interrupted_writer_left_is_cleared_away(tmp_path: Path, corpus: dict[str, Any]) -> None:
    cache = tmp_path / "cache"
    prepare(config_of(corpus), cache)
    folder = token_folders(cache)[0]
    (folder / "meta.json").unlink()
    (folder / ".train.ids.x.part").write_bytes(b"half")
    prepare(config_of(corpus), cache)
    assert not list(folder.glob(".*"))


def test_processes_that_prepare_the_same_at_once_leave_one_good_folder(tmp_path: Path, corpus: dict[str, Any]) -> None:
    config = {"corpus": corpus, "tokenizer": BPE, "seq_len": 8}
    started = [start_preparing(config, tmp_path / "cache") for _ in range(4)]
    answers = [answer_of(process) for process in started]
    assert len({answer["tokens_sha256"] for answer in answers}) == 1
    assert len(token_folders(tmp_path / "cache")) == 1
    assert all(answer["notes"] == [] for answer in answers)
    found = find_prepared(parse(DataConfig, config), tmp_path / "cache")
    assert found is not None and found.tokens_sha256 == answers[0]["tokens_sha256"]


def test_c05_tokens_do_not_depend_on_the_locale(tmp_path: Path, corpus: dict[str, Any]) -> None:
    config = {"corpus": corpus, "tokenizer": {"type": "word"}, "seq_len": 8}
    bare = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    here = prepare_elsewhere(config, tmp_path / "one", LC_ALL="C.UTF-8", PYTHONUTF8="1")
    there = prepare_elsewhere(config, tmp_path / "two", **bare)
    assert here == there
    assert "ē." in there["text"]
    assert prepare_elsewhere(config, tmp_path / "one", **bare) == here


@pytest.mark.parametrize("name", SPLITS)
def test_a_split_without_text_is_refused(tmp_path: Path, name: str) -> None:
    corpus = {"type": "text"}
    for split in SPLITS:
        corpus[split] = str(tmp_path / split)
        (tmp_path / split).write_text("\n \n" if split == name else f"text of {split}\n")
    with pytest.raises(ConfigError, match=f"data.corpus: .* holds no text in its {name} split"):
        prepare(config_of(corpus), tmp_path / "cache")


def test_words_lost_in_a_split_are_said_of_that_split(tmp_path: Path, corpus: dict[str, Any]) -> None:
    data = prepare(config_of(corpus, {"type": "word"}), tmp_path / "cache")
    train, test = data.split("train"), data.split("test")
    assert train.words_reason is None and train.num_tokens == train.words
    seen = set(data.decode(train.ids[1:].tolist()).split())
    lost = sum(word not in seen for word in TEXT[-test.bytes :].split())
    assert test.words_reason == f"{lost:,} words outside the vocabulary were read as <unk>"
    assert train.bytes_reason == test.bytes_reason == "words carry no white space"


def test_a_cache_that_cannot_be_written_is_one_clear_error(tmp_path: Path, corpus: dict[str, Any]) -> None:
    (tmp_path / "cache").write_text("a file stands here")
    with pytest.raises(RunError) as caught:
        prepare(config_of(corpus), tmp_path / "cache")
    assert caught.value.kind == "disk" and str(tmp_path / "cache") in str(caught.value)


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIEDLM_CACHE", str(tmp_path))
    assert default_cache_dir() == tmp_path
    monkeypatch.delenv("TIEDLM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_dir() == tmp_path / "tiedlm"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_cache_dir() == Path.home() / ".cache" / "tiedlm"
