"""Corpus and tokenizer to token files, once: afterwards everything comes from the cache at once."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import numpy.typing as npt
import pydantic

from tiedlm.data.config import SPLITS, DataConfig, Split
from tiedlm.data.config import Tokenizer as TokenizerConfig
from tiedlm.data.corpus import CorpusRecord, Evidence, open_corpus, refuse_empty
from tiedlm.data.counting import SplitCounts, TextCounts, count_text
from tiedlm.data.documents import Row, Text
from tiedlm.data.tokenizer import Ids, Tokenizer, load_tokenizer, tokenizer_identity, train_tokenizer
from tiedlm.data.tokens import (
    FREQUENCIES,
    META,
    TokensMeta,
    WrittenSplit,
    clear,
    read_ids,
    read_meta,
    write_meta,
    write_split,
)
from tiedlm.errors import RunError
from tiedlm.files import write_atomic
from tiedlm.talk import SILENT, Talk, Update

_SAY_EVERY = 1 << 20
POLICY = 1
"""Raised whenever reading, counting or tokenizing changes, so that what older code stored is not used."""


def default_cache_dir() -> Path:
    """$TIEDLM_CACHE, else tiedlm under $XDG_CACHE_HOME, else ~/.cache/tiedlm."""
    chosen = os.environ.get("TIEDLM_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tiedlm"


@dataclass(frozen=True)
class SplitTokens:
    """The tokens of one split, and the counts of its original text.

    `ids` (N + 1,) are a memory map; ids[0] is the end of text, so that the first token has a context too, and every
    ids[1:] is a target. `document_starts` (num_documents,) are offsets into ids[1:]. `words` count one end of line a
    row; `words_reason` and `bytes_reason` say why a figure per word or byte would not be one of the original text.
    """

    ids: Ids
    num_tokens: int
    document_starts: npt.NDArray[np.int64]
    words: int
    rows: int
    bytes: int
    documents: int
    words_reason: str | None
    bytes_reason: str | None

    def document_index(self) -> npt.NDArray[np.int32]:
        """The number of the document that each token belongs to, (N,)."""
        ends = np.append(self.document_starts[1:], self.num_tokens)
        return np.repeat(np.arange(len(ends), dtype=np.int32), ends - self.document_starts)


@dataclass(frozen=True)
class PreparedData:
    """Text as tokens, ready to train on. `tokens_sha256` covers V, the end of text and the ids of all splits."""

    vocab_size: int
    end_of_text: int
    frequencies: npt.NDArray[np.int64]
    corpus: CorpusRecord
    tokenizer_label: str
    tokens_sha256: str
    notes: list[str]
    _splits: dict[Split, SplitTokens] = field(repr=False)
    _tokenizer_config: TokenizerConfig = field(repr=False)
    _folder: Path = field(repr=False)

    def split(self, name: Split) -> SplitTokens:
        """One split's tokens."""
        return self._splits[name]

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, with no end of text after it."""
        return self._tokenizer.encode(text)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`."""
        return self._tokenizer.decode(ids)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return load_tokenizer(self._tokenizer_config, self._folder)


def prepare(config: DataConfig, cache_dir: Path, talk: Talk = SILENT) -> PreparedData:
    """The tokens of a config, from the cache where they are there and whole, else made and stored.

    Raises ConfigError where the request cannot be met, RunError where text cannot be had or stored.
    """
    found = find_prepared(config, cache_dir)
    if found:
        return found
    request = _Request(config, cache_dir)
    try:
        return _open(request, *_make(request, talk))
    except OSError as error:
        raise RunError("disk", f"{cache_dir} cannot be used as a cache: {error}") from error


def find_prepared(config: DataConfig, cache_dir: Path) -> PreparedData | None:
    """What `prepare` would give, where it is in the cache already; the text itself is not read."""
    request = _Request(config, cache_dir)
    counts = request.stored_counts()
    meta = read_meta(request.folder(counts)) if counts else None
    return _open(request, counts, meta, []) if counts and meta else None


class _Request:
    """A config and the places in the cache that belong to it."""

    def __init__(self, config: DataConfig, cache_dir: Path) -> None:
        self.config = config
        self.corpus = open_corpus(config.corpus)
        self._cache_dir = cache_dir
        self._tokenizer = tokenizer_identity(config.tokenizer)

    def counts_file(self, evidence: Evidence) -> Path:
        """Where the counts of a text are kept, named by what tells that text from any other."""
        return self._cache_dir / "texts" / f"{_key([self.config.corpus.model_dump(), evidence])}.json"

    def stored_counts(self) -> TextCounts | None:
        """What is known of the text without reading it."""
        evidence = self.corpus.evidence()
        if evidence is None:
            return None
        try:
            return TextCounts.model_validate_json(self.counts_file(evidence).read_bytes())
        except (OSError, pydantic.ValidationError):
            return None

    def folder(self, counts: TextCounts) -> Path:
        """Where the tokens of a text are kept, named by everything that determines them."""
        return self._cache_dir / "tokens" / _key([counts.sha256, self._tokenizer])


def _key(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps([POLICY, *parts], sort_keys=True).encode()).hexdigest()[:40]


def _make(request: _Request, talk: Talk) -> tuple[TextCounts, TokensMeta, list[str]]:
    """Read, count and tokenize; of several processes that want the same tokens one makes them, the others wait."""
    talk.say(f"reading {request.corpus.label}")
    text = request.corpus.read(talk)
    evidence = request.corpus.evidence()
    counts = request.stored_counts() or count_text(text)
    refuse_empty(counts, request.corpus.label)
    folder, notes = request.folder(counts), list[str]()
    with _alone(folder, talk):
        meta = read_meta(folder)
        if meta is None:
            if (folder / META).exists():
                notes.append(f"the tokens in {folder} were damaged and have been made again")
            clear(folder)
            tokenizer, written = _tokenize(request.config.tokenizer, text, counts, folder, talk)
            if request.corpus.evidence() != evidence:
                message = f"{request.corpus.label} changed while it was read; start again once it is settled"
                raise RunError("busy", message)
            meta = write_meta(folder, tokenizer, written)
    if evidence is not None:
        write_atomic(request.counts_file(evidence), counts.model_dump_json(indent=1))
    return counts, meta, notes


def _tokenize(
    config: TokenizerConfig, text: Text, counts: TextCounts, folder: Path, talk: Talk
) -> tuple[Tokenizer, dict[Split, WrittenSplit]]:
    sizes = {split: counts.splits[split].bytes for split in SPLITS}
    with talk.progress("learning the tokenizer", sizes["train"]) as update:
        tokenizer = train_tokenizer(config, _watched(text["train"], sizes["train"], update))
    written: dict[Split, WrittenSplit] = {}
    for split in SPLITS:
        with talk.progress(f"tokenizing {split}", sizes[split]) as update:
            rows = _watched(text[split], sizes[split], update)
            written[split] = write_split(folder, split, tokenizer.encode_rows(rows), tokenizer)
    return tokenizer, written


def _watched(rows: Iterable[Row], total: int, update: Update) -> Iterator[Row]:
    """`rows`, with word of how far they have been read."""
    done = said = 0
    for row in rows:
        done += len(row.text.encode())
        if done - said >= _SAY_EVERY:
            said = done
            update(done, f"{done / 1e6:,.0f} of {total / 1e6:,.0f} MB")
        yield row


@contextmanager
def _alone(folder: Path, talk: Talk) -> Iterator[None]:
    """Hold the lock that belongs to `folder`; it is let go when its process ends, however that comes about."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(folder.with_suffix(".lock"))
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        talk.say("waiting for another process that prepares the same tokens")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _open(request: _Request, counts: TextCounts, meta: TokensMeta, notes: list[str]) -> PreparedData:
    folder, corpus = request.folder(counts), request.corpus
    return PreparedData(
        vocab_size=meta.vocab_size,
        end_of_text=meta.end_of_text,
        frequencies=np.fromfile(folder / FREQUENCIES, "<i8"),
        corpus=CorpusRecord(corpus.caption(counts), corpus.details(counts), counts.sha256),
        tokenizer_label=meta.label,
        tokens_sha256=meta.tokens_sha256,
        notes=[*meta.notes, *notes],
        _splits={split: _split(folder, split, meta, counts.splits[split]) for split in SPLITS},
        _tokenizer_config=request.config.tokenizer,
        _folder=folder,
    )


def _split(folder: Path, split: Split, meta: TokensMeta, counts: SplitCounts) -> SplitTokens:
    stored = meta.splits[split]
    return SplitTokens(
        ids=read_ids(folder / f"{split}.ids", meta.dtype),
        num_tokens=stored.num_tokens,
        document_starts=np.fromfile(folder / f"{split}.starts", "<i8"),
        words=counts.words,
        rows=counts.rows,
        bytes=counts.bytes,
        documents=counts.documents,
        words_reason=stored.words_reason,
        bytes_reason=stored.bytes_reason,
    )
