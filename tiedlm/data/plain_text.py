"""Which files can serve as text: what is refused before it is read, and what to do instead."""

import hashlib
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

from tiedlm.config.base import ConfigError, Problem

_RECORDS = {
    "json", "jsonl", "ndjson", "csv", "tsv", "parquet", "arrow", "feather", "avro", "orc", "xls", "xlsx", "ods",
    "db", "sqlite", "pkl", "pickle", "npy", "npz", "bin", "pt", "pth", "safetensors", "h5", "hdf5",
    "tfrecord", "msgpack",
}  # fmt: skip
_PACKED = {"zip", "tar", "tgz", "tbz", "tbz2", "txz", "bz2", "xz", "lzma", "zst", "zstd", "lz4", "7z", "rar", "z"}
_DOCUMENTS = {"pdf", "doc", "docx", "odt", "rtf", "epub", "mobi", "ps"}
_ONE_FILE = "join the files into one of UTF-8 text, with a blank line between documents"
_HUB = "for a data set of the Hugging Face hub use type: hub"


def refuse_unless_plain(key: str, path: Path) -> None:
    """Raise ConfigError for a folder, a pattern, or a file that by its name is no plain text (.gz of text is)."""
    if path.is_dir():
        raise _refused(key, path, f"is a folder, one file is wanted: {_ONE_FILE}; {_HUB}")
    if not path.exists() and any(sign in str(path) for sign in "*?["):
        raise _refused(key, path, f"is a pattern, one file is wanted: {_ONE_FILE}; {_HUB}")
    suffixes = [suffix[1:].lower() for suffix in path.suffixes]
    if suffixes[-1:] == ["gz"]:
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    if kind in _RECORDS:
        message = "holds records, not plain text: write their text into a .txt file, a blank line between documents"
        raise _refused(key, path, f"(.{kind}) {message}; {_HUB}")
    if kind in _PACKED:
        raise _refused(key, path, f"(.{kind}) is packed: unpack it first; of what is packed only .txt.gz is read")
    if kind in _DOCUMENTS:
        raise _refused(key, path, f"(.{kind}) is no plain text: convert it to a UTF-8 .txt file first")


def refuse_equal(paths: Mapping[str, Path]) -> None:
    """Raise ConfigError with both keys where two splits (key: path) are one file, by whatever name, or equal bytes."""
    for (one, first), (other, second) in combinations(paths.items(), 2):
        if first.samefile(second):
            same = f"{second} is the file of {one}, {first}, too"
        elif first.stat().st_size == second.stat().st_size and _sha256(first) == _sha256(second):
            same = f"{second} holds the same text as {first} of {one}"
        else:
            continue
        way_out = "splits must not share text; `file` alone is cut into three"
        raise ConfigError(Problem(other, f"{same}; {way_out}"))


def _sha256(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _refused(key: str, path: Path, why: str) -> ConfigError:
    return ConfigError(Problem(key, f"{path} {why}"))
