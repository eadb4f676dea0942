"""Token files: the ids of each split on disk, written once as a stream, read as a memory map.

A folder holds for each split `<split>.ids` (the end of text, then every token) and `<split>.starts` (where documents
begin among the tokens, int64), the train split's `frequencies` (int64), the tokenizer, and `meta.json`, which is
written last: where it stands, the folder is whole.
"""

import hashlib
import json
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import numpy.typing as npt
import pydantic

from tiedlm.config.base import Config
from tiedlm.data.config import SPLITS, Split
from tiedlm.data.tokenizer import Ids, Tokenizer, Tokens
from tiedlm.files import atomic_path, write_atomic

META = "meta.json"
FREQUENCIES = "frequencies"
_FLUSH = 1 << 20
"""Tokens held in memory before they are written."""

Dtype = Literal["<u2", "<u4"]


class FileStamp(Config):
    """A file as it was when written."""

    bytes: int
    sha256: str
    mtime_ns: int


class SplitMeta(Config):
    """What the tokenizer did to a split."""

    num_tokens: int
    words_reason: str | None
    bytes_reason: str | None


class TokensMeta(Config):
    """What a folder of tokens holds."""

    format: Literal[1] = 1
    vocab_size: int
    end_of_text: int
    dtype: Dtype
    label: str
    notes: list[str]
    splits: dict[Split, SplitMeta]
    files: dict[str, FileStamp]
    tokens_sha256: str


def dtype_for(vocab_size: int) -> Dtype:
    """16 bits where every id fits, else 32."""
    return "<u2" if vocab_size <= 1 << 16 else "<u4"


def read_ids(path: Path, dtype: str) -> Ids:
    """The ids in a file as a read-only memory map, whatever their width."""
    ids: Ids = np.memmap(path, np.dtype(dtype), mode="r")
    return ids


class _Writer:
    """Writes the ids of one split as they come, and counts them."""

    def __init__(self, file: BinaryIO, vocab_size: int, end_of_text: int) -> None:
        self._file = file
        self._dtype = np.dtype(dtype_for(vocab_size))
        self._held: list[Ids] = []
        self._num_held = 0
        self.num_tokens = 0
        self.starts = array("q")
        self.frequencies = np.zeros(vocab_size, np.int64)
        file.write(np.array([end_of_text], self._dtype).tobytes())

    def add(self, tokens: Tokens) -> None:
        self.starts.extend(self.num_tokens + start for start in tokens.starts)
        self._held.append(tokens.ids)
        self._num_held += len(tokens.ids)
        self.num_tokens += len(tokens.ids)
        if self._num_held >= _FLUSH:
            self.flush()

    def flush(self) -> None:
        ids = np.concatenate(self._held) if self._held else np.zeros(0, np.int64)
        assert not len(ids) or 0 <= ids.min() <= ids.max() < len(self.frequencies), "an id outside the vocabulary"
        self.frequencies += np.bincount(ids, minlength=len(self.frequencies))
        self._file.write(ids.astype(self._dtype).tobytes())
        self._held, self._num_held = [], 0


@dataclass(frozen=True)
class WrittenSplit:
    """What came out of writing one split."""

    num_tokens: int
    num_lost: int
    frequencies: npt.NDArray[np.int64]


def write_split(folder: Path, split: Split, stream: Iterable[Tokens], tokenizer: Tokenizer) -> WrittenSplit:
    """Write `<split>.ids` and `<split>.starts`; memory does not grow with the stream."""
    num_lost = 0
    with atomic_path(folder / f"{split}.ids") as path, path.open("wb") as file:
        writer = _Writer(file, tokenizer.vocab_size, tokenizer.end_of_text)
        for tokens in stream:
            writer.add(tokens)
            num_lost += tokens.num_lost
        writer.flush()
    write_atomic(folder / f"{split}.starts", np.array(writer.starts, "<i8").tobytes())
    return WrittenSplit(writer.num_tokens, num_lost, writer.frequencies)


def write_meta(folder: Path, tokenizer: Tokenizer, written: dict[Split, WrittenSplit]) -> TokensMeta:
    """Write the frequencies, the tokenizer and, last, `meta.json`."""
    write_atomic(folder / FREQUENCIES, written["train"].frequencies.astype("<i8").tobytes())
    tokenizer.save(folder)
    files = {path.name: _stamp(path) for path in sorted(folder.iterdir())}
    identity = [tokenizer.vocab_size, tokenizer.end_of_text, *(files[f"{split}.ids"].sha256 for split in SPLITS)]
    meta = TokensMeta(
        vocab_size=tokenizer.vocab_size,
        end_of_text=tokenizer.end_of_text,
        dtype=dtype_for(tokenizer.vocab_size),
        label=tokenizer.label,
        notes=tokenizer.notes,
        splits={
            split: SplitMeta(
                num_tokens=done.num_tokens,
                words_reason=tokenizer.words_reason(done.num_lost),
                bytes_reason=tokenizer.bytes_reason(done.num_lost),
            )
            for split, done in written.items()
        },
        files=files,
        tokens_sha256=hashlib.sha256(json.dumps(identity).encode()).hexdigest(),
    )
    write_atomic(folder / META, meta.model_dump_json(indent=1))
    return meta


def clear(folder: Path) -> None:
    """Make `folder` empty: what a broken or interrupted writer left goes, the mark that it is whole first."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / META).unlink(missing_ok=True)
    for path in folder.iterdir():
        path.unlink()


def read_meta(folder: Path, *, verify: bool = False) -> TokensMeta | None:
    """What `folder` holds; None where it is not there, not whole or not what was written.

    To `verify` is to read every byte: a bit that a disk has lost changes neither a file's size nor its time.
    """
    try:
        meta = TokensMeta.model_validate_json((folder / META).read_bytes())
        whole = all(_is_whole(folder / name, stamp, verify) for name, stamp in meta.files.items())
    except (OSError, pydantic.ValidationError):
        return None
    return meta if whole else None


def _is_whole(path: Path, stamp: FileStamp, verify: bool) -> bool:
    """A file of the right size and time is taken as it is; one of another time (a copy) is read and compared too."""
    stat = path.stat()
    if stat.st_size != stamp.bytes:
        return False
    is_as_left = not verify and stat.st_mtime_ns == stamp.mtime_ns
    return is_as_left or _sha256(path) == stamp.sha256


def _stamp(path: Path) -> FileStamp:
    stat = path.stat()
    return FileStamp(bytes=stat.st_size, sha256=_sha256(path), mtime_ns=stat.st_mtime_ns)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
