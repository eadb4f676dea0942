"""Damaged and hostile files: each is refused in a line, or read rightly; in bounded memory and time."""

import json
import random
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from tests.support.planted_checkpoints import INPUT, OUTPUT, D, V, llama, plant, plant_shards, tensors
from tiedlm.checkpoints.audit import audit_path
from tiedlm.checkpoints.byte_source import LocalFile
from tiedlm.checkpoints.json_text import MOST_OBJECTS
from tiedlm.checkpoints.safetensors_header import LONGEST_HEADER, read_header
from tiedlm.errors import ConfigError

Header = dict[str, Any]


def write(path: Path, header: Header | str, num_bytes: int | None = None) -> Path:
    """A file with this header, and as many bytes of data as it promises unless another number is given."""
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    ends = [] if isinstance(header, str) else [entry["data_offsets"][1] for entry in header.values()]
    data = bytes(max(ends, default=0) if num_bytes is None else num_bytes)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def entry(begin: int, end: int, dtype: str = "F32", shape: Any = None) -> Header:
    sizes = [(end - begin) // 4] if shape is None and isinstance(begin, int) and isinstance(end, int) else shape
    return {"dtype": dtype, "shape": sizes, "data_offsets": [begin, end]}


def test_a_sound_header_is_that_of_the_library(tmp_path: Path) -> None:
    found = {**tensors("unequal"), "half": np.zeros((3, 0, 2), np.float16), "scalar": np.array(1.5)}
    save_file(found, tmp_path / "file", metadata={"format": "np"})
    read = read_header(LocalFile(tmp_path / "file"), "file")
    raw = (tmp_path / "file").read_bytes()
    with safe_open(tmp_path / "file", framework="numpy") as theirs:
        assert {*read} == {*theirs.keys()} == {*found}
        for name, tensor in read.items():
            assert [*tensor.shape] == theirs.get_slice(name).get_shape()
            assert tensor.dtype == theirs.get_slice(name).get_dtype()
            assert raw[tensor.start : tensor.start + tensor.num_bytes] == found[name].tobytes()


FAULTS: dict[str, tuple[Header | str, str]] = {
    "too many objects": ('{"a": [' + "{}," * (MOST_OBJECTS + 1) + "{}]}", "more than 1,000,000 objects"),
    "no object": ("[1, 2]", "must be a JSON object"),
    "no JSON": ('{"a": ', "is no JSON"),
    "no text": ('{"a\xff": 1}', "dtype|must be an object"),
    "nested": ("[" * 100_000, "nested too deeply"),
    "nested objects": ('{"a":' * 100_000, "nested too deeply"),
    "long number": ('{"a": ' + "9" * 5000 + "}", "too long|must be an object"),
    "repeated key": ('{"a": {}, "a": {}}', "the key 'a' stands there twice"),
    "repeated key inside": ('{"a": {"dtype": "F32", "dtype": "F16"}}', "'dtype' stands there twice"),
    "no entry": ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, "b": entry(0, 0, "F99")}, "'F99'"),
    "overlap": ({"a": entry(0, 8), "b": entry(4, 12)}, "overlaps"),
    "gap": ({"a": entry(0, 8), "b": entry(12, 16)}, "leaves a gap after 'a'"),
    "gap at the start": ({"a": entry(4, 8)}, "leaves a gap after the header"),
    "backwards": ({"a": entry(8, 4, shape=[1])}, "are not \\[begin, end\\]"),
    "wrong size": ({"a": entry(0, 8, shape=[3])}, "has 8 bytes, its shape \\[3\\] of F32 takes 12"),
    "wrong dtype": ({"a": entry(0, 8, "F16")}, "of F16 takes 4"),
    "huge shape": ({"a": entry(0, 8, shape=[2**62, 2**62, 2**62])}, "takes more than any file"),
    "endless shape": ({"a": entry(0, 8, shape=[2**40] * 100_000)}, "takes more than any file"),
    "negative": ({"a": entry(0, 8, shape=[-2, -1])}, "is no list of sizes"),
    "fraction": ({"a": entry(0, 8, shape=[2.0])}, "is no list of sizes"),
    "truth": ({"a": entry(0, 4, shape=[True])}, "is no list of sizes"),
    "shape as text": ({"a": entry(0, 4, shape="1")}, "is no list of sizes"),
    "dtype as a list": ('{"a": {"dtype": [], "shape": [1], "data_offsets": [0, 4]}}', "dtype \\[\\]"),
    "one offset": ('{"a": {"dtype": "F32", "shape": [1], "data_offsets": [4]}}', "are not \\[begin, end\\]"),
    "beyond all numbers": (
        '{"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1e400]}}',
        "are not \\[begin, end\\]",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_of_a_header_is_named(fault: str, tmp_path: Path) -> None:
    header, message = FAULTS[fault]
    with pytest.raises(ConfigError, match=message) as caught:
        read_header(LocalFile(write(tmp_path / "file", header)), "file")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500
    with pytest.raises((SafetensorError, OverflowError)), safe_open(tmp_path / "file", framework="numpy"):
        pass


@pytest.mark.parametrize("length", [2**64 - 1, 10 * 10**9, LONGEST_HEADER + 1, 1000])
def test_a_header_longer_than_the_file_is_refused_unread(length: int, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(struct.pack("<Q", length) + b"{}")
    tracemalloc.start()
    with pytest.raises(ConfigError, match=f"header would have {length:,} bytes"):
        read_header(LocalFile(tmp_path / "file"), "file")
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_a_header_of_ten_gigabytes_is_refused_though_the_file_has_them(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:  # a hole, which takes no room on the disk
        file.write(struct.pack("<Q", 10**10))
        file.truncate(8 + 10**10)
    with pytest.raises(ConfigError, match="at most 100,000,000 are allowed"):
        read_header(LocalFile(path), "file")


def test_a_file_that_was_not_written_whole_is_refused(tmp_path: Path) -> None:
    folder = plant_shards(tmp_path, "unequal", flag=False)
    shard = folder / "model-00002-of-00003.safetensors"
    whole = shard.read_bytes()
    for length in (0, 5, 8, 60, len(whole) - 1):
        shard.write_bytes(whole[:length])
        with pytest.raises(ConfigError, match=r"00002-of-00003.*(too few|header would have|has [\d,]+ bytes, its)"):
            audit_path(folder)
    shard.write_bytes(whole + b"more")
    with pytest.raises(ConfigError, match="4 bytes after its last tensor"):
        audit_path(folder)
    shard.unlink()
    with pytest.raises(ConfigError, match=r"names 'model-00002-of-00003.safetensors', of 3 files: not there"):
        audit_path(folder)
    (folder / "model.safetensors.index.json").unlink()
    with pytest.raises(ConfigError, match=r"model-00002-of-00003.safetensors is not there"):
        audit_path(folder)


@pytest.mark.parametrize("name", ["../secret.safetensors", "/etc/passwd", "..", "a\\..\\b", "", 7, None, "a\0b"])
def test_an_index_that_leads_out_of_the_folder_is_refused(name: Any, tmp_path: Path) -> None:
    folder = plant_shards(tmp_path / "model", "input", flag=True)
    save_file(tensors("input"), tmp_path / "secret.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {INPUT: name}}))
    with pytest.raises(ConfigError, match="which is no file of this checkpoint"):
        audit_path(folder)


def test_an_index_and_its_files_must_agree(tmp_path: Path) -> None:
    folder = plant_shards(tmp_path, "unequal", flag=False)
    index = folder / "model.safetensors.index.json"
    raw = json.loads(index.read_text())
    raw["weight_map"][OUTPUT] = raw["weight_map"][INPUT]
    index.write_text(json.dumps(raw))
    with pytest.raises(ConfigError, match=r"its index says that 'lm_head.weight' is in"):
        audit_path(folder)
    for wrong in ("{}", '{"weight_map": []}', '{"weight_map": {}}'):
        index.write_text(wrong)
        with pytest.raises(ConfigError, match="has no weight_map"):
            audit_path(folder)


def test_one_name_in_two_files_is_refused(tmp_path: Path) -> None:
    for part in ("a", "b"):
        save_file(tensors("input"), tmp_path / f"{part}.safetensors")
    with pytest.raises(ConfigError, match=r"is in a.safetensors and in b.safetensors"):
        audit_path(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "is no JSON"), ("[]", "must be a JSON object"), ('{"tie_word_embeddings": "yes"}', "must be true or false")],
)
def test_a_config_that_is_none_is_refused(text: str, said: str, tmp_path: Path) -> None:
    plant(tmp_path, llama(True), "input")
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ConfigError, match=said):
        audit_path(tmp_path)


def flip(draw: random.Random, raw: bytearray, header_end: int) -> None:
    raw[draw.randrange(header_end)] ^= 1 << draw.randrange(8)


def cut(draw: random.Random, raw: bytearray, header_end: int) -> None:
    del raw[draw.randrange(len(raw)) :]


def drop(draw: random.Random, raw: bytearray, header_end: int) -> None:
    start = draw.randrange(header_end)
    del raw[start : start + draw.randrange(1, 9)]


def repeat(draw: random.Random, raw: bytearray, header_end: int) -> None:
    start = draw.randrange(8, header_end)
    raw[start:start] = raw[start : start + draw.randrange(1, 40)]


def other_length(draw: random.Random, raw: bytearray, header_end: int) -> None:
    raw[:8] = struct.pack("<Q", draw.choice([0, 1, header_end, 2**31, 2**63, draw.randrange(2 * header_end)]))


def other_digit(draw: random.Random, raw: bytearray, header_end: int) -> None:
    digits = [place for place in range(8, header_end) if raw[place] in b"0123456789"]
    raw[draw.choice(digits)] = draw.choice(b"0123456789-.e")


MUTATIONS: list[Callable[[random.Random, bytearray, int], None]] = [flip, cut, drop, repeat, other_length, other_digit]


@pytest.mark.parametrize("seed", range(20))
def test_a_mutated_file_is_refused_in_a_line_or_read_as_the_library_reads_it(seed: int, tmp_path: Path) -> None:
    """Thirty mutations a seed: what is accepted has the names, shapes and bytes that safetensors itself finds."""
    draw = random.Random(seed)
    path = plant(tmp_path, llama(True), "unequal") / "model.safetensors"
    sound = path.read_bytes()
    header_end = 8 + struct.unpack("<Q", sound[:8])[0]
    started = time.monotonic()
    tracemalloc.start()
    for _ in range(30):
        raw = bytearray(sound)
        draw.choice(MUTATIONS)(draw, raw, header_end)
        path.write_bytes(raw)
        try:
            audit = audit_path(tmp_path)
        except ConfigError as error:
            assert len(str(error).splitlines()) == 1
            continue
        with safe_open(path, framework="numpy") as theirs:  # raises where it is not sound
            pair = (audit.pair.input, audit.pair.output)
            for tensor in filter(None, pair):
                expected = theirs.get_slice(tensor.name)
                assert (list(tensor.shape), tensor.dtype) == (expected.get_shape(), expected.get_dtype())
            names = {*theirs.keys()}
        assert {INPUT, OUTPUT} & names == {tensor.name for tensor in filter(None, pair)} & {INPUT, OUTPUT}
        assert audit.verdict in ("conflict", "tied", "unknown")
    assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    tracemalloc.stop()
    assert time.monotonic() - started < 10
    assert V * D  # the matrices are not empty


def test_a_link_to_nothing_and_a_folder_in_place_of_a_file_are_told(tmp_path: Path) -> None:
    plant(tmp_path, llama(True), "input")
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "model.safetensors").symlink_to(tmp_path / "gone")
    with pytest.raises(ConfigError, match=r"is a link to .*gone, which is not there"):
        audit_path(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "model.safetensors").mkdir()
    with pytest.raises(ConfigError, match="holds no weights that can be read"):
        audit_path(tmp_path)
