"""What is no plain text, or one text for two splits, is refused before it is read, in words that say how to go on."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.small_runs import small_experiment, small_run
from tiedlm.config.base import ConfigError, parse
from tiedlm.data.config import DataConfig
from tiedlm.data.open_corpus import open_corpus
from tiedlm.data.prepare import prepare, reopen
from tiedlm.experiment.carry_out import train


def config_of(**corpus: Any) -> DataConfig:
    return parse(DataConfig, {"corpus": {"type": "text", **corpus}, "tokenizer": {"type": "byte"}, "seq_len": 8})


def refusal(**corpus: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        open_corpus(config_of(**corpus).corpus).check()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *((f"a.{kind}", "holds records, not plain text") for kind in ("json", "jsonl", "csv", "TSV", "parquet")),
        ("a.jsonl.gz", "(.jsonl) holds records"),
        *((f"a.{kind}", "is packed: unpack it first") for kind in ("zip", "tgz", "tar.gz", "zst", "xz")),
        ("a.pdf", "is no plain text: convert it"),
    ],
)
def test_a_file_that_by_its_name_is_no_plain_text_is_refused(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / name).write_text("one\n\ntwo\n\nthree\n")
    told = refusal(file=str(tmp_path / name))
    assert told.startswith(f"data.corpus.file: {tmp_path}/{name} (.") and why in told


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a", "a.md", "v1.2", "wiki.train.tokens", "a[1].txt", "a*.txt"])
def test_other_names_are_taken(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("one\n\ntwo\n\nthree\n")
    open_corpus(config_of(file=str(tmp_path / name)).corpus).check()


def test_a_folder_a_pattern_an_address_and_a_list_are_refused_with_the_way_out(tmp_path: Path) -> None:
    way_out = "join the files into one of UTF-8 text, with a blank line between documents"
    (tmp_path / "a.txt").write_text("one\n")
    for value, why in (("", "is a folder"), ("*.txt", "is a pattern"), ("[ab].txt", "is a pattern")):
        told = refusal(file=f"{tmp_path}/{value}")
        assert why in told and way_out in told
    with pytest.raises(ConfigError, match=r"corpus.file: .*https://example.org/a.txt.* is an address"):
        config_of(file="https://example.org/a.txt")
    with pytest.raises(ConfigError, match=r'corpus.file: \["a.txt", "b.txt"\]: must be one file; join several'):
        config_of(file=["a.txt", "b.txt"])


def three_splits(folder: Path) -> dict[str, str]:
    paths = {split: folder / f"{split}.txt" for split in ("train", "validation", "test")}
    for split, path in paths.items():
        path.write_text(f"text of {split}\n")
    return {split: str(path) for split, path in paths.items()}


def test_one_text_for_two_splits_is_refused_by_whatever_name_it_goes(tmp_path: Path) -> None:
    files = three_splits(tmp_path)
    open_corpus(config_of(**files).corpus).check()
    train_file = Path(files["train"])
    (tmp_path / "link").symlink_to(train_file)
    os.link(train_file, tmp_path / "hard")
    (tmp_path / "copy").write_bytes(train_file.read_bytes())
    for other in (files["train"], f"{tmp_path}/x/../train.txt", f"{tmp_path}/link", f"{tmp_path}/hard"):
        (tmp_path / "x").mkdir(exist_ok=True)
        told = refusal(**{**files, "test": other})
        assert told.startswith("data.corpus.test: ") and "is the file of data.corpus.train" in told
    told = refusal(**{**files, "test": f"{tmp_path}/copy"})
    assert told.startswith("data.corpus.test: ") and f"holds the same text as {train_file} of data.corpus.train" in told
    told = refusal(**{**files, "test": files["validation"]})
    assert told.startswith("data.corpus.test: ") and "of data.corpus.validation" in told


def test_what_must_not_be_trained_on_is_not_prepared_but_an_old_run_of_it_is_read(tmp_path: Path) -> None:
    files = {**three_splits(tmp_path), "test": str(tmp_path / "train.txt")}
    with pytest.raises(ConfigError, match=r"data.corpus.test: "):
        prepare(config_of(**files), tmp_path / "cache")
    assert reopen(config_of(**files), tmp_path / "cache").split("test").words == 4


def test_a_refused_text_leaves_no_run_folder(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n\n{}\n\n{}\n")
    setting = f"data.corpus.file={tmp_path}/a.jsonl"
    run = small_run(tmp_path, setting)
    with pytest.raises(ConfigError, match="holds records"):
        train(small_experiment(tmp_path, setting), run, cache_dir=tmp_path / "cache")
    assert not (tmp_path / "runs").exists() and not (tmp_path / "cache").exists()
