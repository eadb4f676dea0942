"""A tokenizer file is known by what it holds, as a text is."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.tokenizers import trained
from tiedlm.config.base import first_difference, parse
from tiedlm.data.config import DataConfig
from tiedlm.data.identity import Difference, difference_in_content, named_files
from tiedlm.data.prepare import prepare

TEXT = "".join(f"Paragraph {number} of a text.\n\n" for number in range(20))


def data(folder: Path, tokenizer: str = "tokenizer.json", text: str = "text.txt") -> DataConfig:
    raw = {
        "corpus": {"type": "text", "file": str(folder / text), "fractions": [0.8, 0.1, 0.1]},
        "tokenizer": {"type": "file", "path": str(folder / tokenizer)},
        "seq_len": 8,
    }
    return parse(DataConfig, raw)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text(TEXT)
    trained({"type": "bpe", "vocab_size": 270}).save(tmp_path)
    return tmp_path


def difference(made_with: DataConfig, now: DataConfig, cache: Path) -> Difference | None:
    record = prepare(made_with, cache).record()
    return difference_in_content("the run", made_with, now, record)


def test_no_path_is_part_of_what_a_config_computes(here: Path) -> None:
    assert first_difference(data(here), data(here / "elsewhere", "other.json", "other.txt")) is None


def test_a_copy_of_the_tokenizer_is_the_tokenizer(here: Path) -> None:
    shutil.copy(here / "tokenizer.json", here / "copy.json")
    assert difference(data(here), data(here, "copy.json"), here / "cache") is None


def test_a_tokenizer_file_that_was_written_over_is_another(here: Path) -> None:
    config = data(here)
    record = prepare(config, here / "cache").record()
    trained({"type": "bpe", "vocab_size": 265}).save(here)
    found = difference_in_content("the run", config, config, record)
    assert found is not None and found.key == "data.tokenizer.path"
    assert found.message == f"the run was made with {here / 'tokenizer.json'} as it was before it changed"
    (here / "tokenizer.json").unlink()
    assert difference_in_content("the run", config, config, record) is None, "nothing says that it is another"


def test_another_tokenizer_is_another_even_where_the_text_is_the_same(here: Path) -> None:
    shutil.move(here / "tokenizer.json", here / "first.json")
    trained({"type": "bpe", "vocab_size": 265}).save(here)
    shutil.copy(here / "text.txt", here / "copy.txt")
    found = difference(data(here, "first.json"), data(here, "tokenizer.json", "copy.txt"), here / "cache")
    assert found is not None and found.key == "data.tokenizer.path" and "something else" in found.message


def test_the_same_splits_in_three_files_are_the_same_text(here: Path) -> None:
    config = data(here)
    record = prepare(config, here / "cache").record()
    rows = TEXT.splitlines(keepends=True)
    raw = config.model_dump(mode="json")
    raw["corpus"] = {"type": "text"}
    for name, (begin, end) in {"train": (0, 32), "validation": (32, 36), "test": (36, 40)}.items():
        (here / f"{name}.txt").write_text("".join(rows[begin:end]))
        raw["corpus"][name] = str(here / f"{name}.txt")
    assert difference_in_content("the run", config, parse(DataConfig, raw), record) is None
    (here / "test.txt").write_text("Another text.\n")
    found = difference_in_content("the run", config, parse(DataConfig, raw), record)
    assert found is not None and found.key == "data.corpus.file"


def test_an_old_run_that_recorded_nothing_is_told_by_paths(here: Path) -> None:
    assert difference_in_content("the run", data(here), data(here), None) is None
    found = difference_in_content("the run", data(here), data(here, text="other.txt"), None)
    assert found == Difference(
        "data.corpus.file", f"the run was made with {here / 'text.txt'}; {here / 'other.txt'} is another file"
    )


def test_the_files_of_a_config_are_named_by_their_keys(here: Path) -> None:
    assert named_files(data(here)) == {
        "data.corpus.file": here / "text.txt",
        "data.tokenizer.path": here / "tokenizer.json",
    }
    other = parse(
        DataConfig,
        {"corpus": {"type": "hub", "id": "a/b", "train": "train[:9%]"}, "tokenizer": {"type": "byte"}, "seq_len": 8},
    )
    assert named_files(other) == {}


def test_the_record_names_the_files_of_the_tokenizer(here: Path) -> None:
    record = prepare(data(here), here / "cache").record()
    assert [*record.tokenizer] == ["tokenizer.json"]
    assert json.loads(record.model_dump_json())["details"]["file"].startswith("text.txt sha256:")
