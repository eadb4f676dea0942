"""Token files: any id comes back, and a file that is not what was written is noticed."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tiedlm.data.byte_tokenizer import Bytes
from tiedlm.data.config import SPLITS
from tiedlm.data.tokenizer import Tokens
from tiedlm.data.tokens import TokensMeta, WrittenSplit, clear, dtype_for, read_ids, read_meta, write_meta, write_split


class Wide(Bytes):
    """A tokenizer of as many types as a test needs."""

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.vocab_size = vocab_size
        self.end_of_text = vocab_size - 1


def write(folder: Path, vocab_size: int, ids: Sequence[int], documents: int = 1) -> TokensMeta:
    tokenizer = Wide(vocab_size)
    clear(folder)
    parts = np.array_split(np.array(ids, np.int64), documents)
    written: dict[object, WrittenSplit] = {
        split: write_split(folder, split, [Tokens(part, [0]) for part in parts], tokenizer) for split in SPLITS
    }
    return write_meta(folder, tokenizer, written)  # type: ignore[arg-type]


@pytest.mark.parametrize("vocab_size", [257, 65_535, 65_536, 65_537, 70_000])
def test_d03_every_id_comes_back_whatever_its_width(tmp_path: Path, vocab_size: int) -> None:
    ids = [0, 1, vocab_size // 2, vocab_size - 2, vocab_size - 1]
    meta = write(tmp_path, vocab_size, ids)
    found = read_meta(tmp_path)
    assert found == meta
    stored = read_ids(tmp_path / "train.ids", meta.dtype)
    assert stored.tolist() == [vocab_size - 1, *ids]
    assert not stored.flags.writeable


def test_d03_ids_to_69_999_come_back(tmp_path: Path) -> None:
    meta = write(tmp_path, 70_000, range(70_000))
    assert read_ids(tmp_path / "test.ids", meta.dtype)[1:].tolist() == list(range(70_000))


def test_d03_ids_take_16_bits_while_every_one_fits() -> None:
    assert [np.dtype(dtype_for(size)).itemsize for size in (257, 65_536, 65_537)] == [2, 2, 4]


def test_an_id_outside_the_vocabulary_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="outside the vocabulary"):
        write(tmp_path, 300, [300])


def test_frequencies_and_document_starts_are_those_of_the_tokens(tmp_path: Path) -> None:
    ids = np.random.default_rng(0).integers(0, 300, 1000)
    write(tmp_path, 300, ids.tolist(), documents=7)
    assert np.fromfile(tmp_path / "frequencies", "<i8").tolist() == np.bincount(ids, minlength=300).tolist()
    starts = np.cumsum([0, *(len(part) for part in np.array_split(ids, 7))])[:-1]
    assert np.fromfile(tmp_path / "train.starts", "<i8").tolist() == starts.tolist()


def test_the_hash_of_tokens_covers_ids_vocabulary_and_end_of_text(tmp_path: Path) -> None:
    hashes = [
        write(tmp_path / "a", 300, [1, 2, 3]).tokens_sha256,
        write(tmp_path / "b", 300, [1, 2, 4]).tokens_sha256,
        write(tmp_path / "c", 301, [1, 2, 3]).tokens_sha256,
    ]
    assert len(set(hashes)) == 3
    assert write(tmp_path / "d", 300, [1, 2, 3]).tokens_sha256 == hashes[0]


def test_a_folder_without_its_last_file_is_not_whole(tmp_path: Path) -> None:
    write(tmp_path, 300, [1, 2, 3])
    (tmp_path / "meta.json").unlink()
    assert read_meta(tmp_path) is None
    assert read_meta(tmp_path / "nowhere") is None


def test_a_file_cut_short_or_altered_is_noticed_and_a_copy_is_not_taken_for_one(tmp_path: Path) -> None:
    write(tmp_path / "good", 300, [1, 2, 3])
    for name in ("train.ids", "validation.starts", "frequencies"):
        for damage in (_cut, _flip, Path.unlink):
            shutil.rmtree(tmp_path / "copy", ignore_errors=True)
            shutil.copytree(tmp_path / "good", tmp_path / "copy", copy_function=shutil.copyfile)
            assert read_meta(tmp_path / "copy"), "a copy with other times is as good"
            damage(tmp_path / "copy" / name)
            assert read_meta(tmp_path / "copy") is None, (name, damage)


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
