"""Corpus and tokenizer to token files, once: afterwards everything comes from the cache at once."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock
import pydantic

from tiedlm.data.build_tokenizer import (
    load_tokenizer,
    saved_tokenizer_identity,
    tokenizer_identity,
    train_tokenizer,
)
from tiedlm.data.config import SPLITS, DataConfig, Split
from tiedlm.data.corpus import CorpusRecord, Evidence, refuse_empty
from tiedlm.data.counting import SplitOverlap, TextCounts, count_text
from tiedlm.data.documents import Row, Text
from tiedlm.data.open_corpus import open_corpus
from tiedlm.data.overlap import measure_overlap
from tiedlm.data.prepared import PreparedData, SplitTokens, open_prepared
from tiedlm.data.tokenizer import Tokenizer
from tiedlm.data.tokens import META, TokensMeta, WrittenSplit, clear, read_meta, write_meta, write_split
from tiedlm.errors import RunError
from tiedlm.files import write_atomic
from tiedlm.paths import reason
from tiedlm.talk import SILENT, Talk, Update

__all__ = ["PreparedData", "SplitTokens", "check_prepared", "find_prepared", "prepare", "reopen"]

_SAY_EVERY = 1 << 20
POLICY = 2
"""Raised whenever reading, counting or tokenizing changes, so that what older code stored is not used."""


def prepare(config: DataConfig, cache_dir: Path, talk: Talk = SILENT, *, verify: bool = False) -> PreparedData:
    """The tokens of a config to train on, from the cache where they are there and whole, else made and stored.

    With `verify` those in the cache are compared with their hashes first, which takes about two seconds a GB.
    Raises ConfigError where the request cannot be met (also for a text that could be read, but not trained on: no plain
    text, or splits that overlap), RunError where text cannot be had or stored.
    """
    request = _Request(config, cache_dir)
    request.corpus.check()
    return _open(request, talk, verify=verify, needs_overlap=True)


def reopen(
    config: DataConfig,
    cache_dir: Path,
    talk: Talk = SILENT,
    *,
    verify: bool = False,
    tokenizer_dir: Path | None = None,
) -> PreparedData:
    """What `prepare` gives, for a run that was trained already: its text is not judged again.

    The tokenizer is the one saved in `tokenizer_dir` where that is given; nothing is learned then.
    """
    return _open(_Request(config, cache_dir, tokenizer_dir), talk, verify=verify, needs_overlap=False)


def _open(request: "_Request", talk: Talk, *, verify: bool, needs_overlap: bool) -> PreparedData:
    """From the cache; made where that lacks the tokens, or the overlap of the splits where it is needed."""
    found = request.find(verify=verify)
    if found and (found.overlap or not needs_overlap):
        return found
    try:
        return request.open(*_make(request, talk, verify))
    except OSError as error:
        if found:  # all but the overlap is there, and nothing can be written
            return found
        where = f"{error.filename}: " if error.filename else ""
        why = reason(error, Path(error.filename or request.cache_dir))
        raise RunError("disk", f"{request.cache_dir} cannot be used as a cache: {where}{why}") from error


def find_prepared(config: DataConfig, cache_dir: Path, *, verify: bool = False) -> PreparedData | None:
    """What `prepare` would give, where it is in the cache already; the text itself is not read."""
    return _Request(config, cache_dir).find(verify=verify)


def check_prepared(config: DataConfig, cache_dir: Path) -> TokensMeta | None:
    """What the cache holds of a config, compared with its hashes but not opened; None where it is not all there."""
    return _Request(config, cache_dir).stored(verify=True)[1]


class _Request:
    """A config and the places in the cache that belong to it."""

    def __init__(self, config: DataConfig, cache_dir: Path, tokenizer_dir: Path | None = None) -> None:
        self.config = config
        self.corpus = open_corpus(config.corpus)
        self.cache_dir = cache_dir
        self._tokenizer_dir = tokenizer_dir
        self._tokenizer = (
            tokenizer_identity(config.tokenizer)
            if tokenizer_dir is None
            else saved_tokenizer_identity(config.tokenizer, tokenizer_dir)
        )

    def tokenizer(self, rows: Iterable[Row]) -> Tokenizer:
        """The tokenizer that was saved, or one learned from the `rows` of the train split where it learns."""
        if self._tokenizer_dir is not None:
            return load_tokenizer(self.config.tokenizer, self._tokenizer_dir)
        return train_tokenizer(self.config.tokenizer, rows)

    def counts_file(self, evidence: Evidence) -> Path:
        """Where the counts of a text are kept, named by what tells that text from any other."""
        return self.cache_dir / "texts" / f"{_key([self.config.corpus.model_dump(), evidence])}.json"

    def stored_counts(self) -> TextCounts | None:
        """What is known of the text without reading it."""
        evidence = self.corpus.evidence()
        if evidence is None:
            return None
        try:
            return TextCounts.model_validate_json(self.counts_file(evidence).read_bytes())
        except (OSError, pydantic.ValidationError):
            return None

    def stored(self, *, verify: bool) -> tuple[TextCounts | None, TokensMeta | None]:
        """What the cache knows of the text and of its tokens."""
        counts = self.stored_counts()
        return counts, read_meta(self.folder(counts), verify=verify) if counts else None

    def find(self, *, verify: bool) -> PreparedData | None:
        """What the cache has, opened; the text itself is not read."""
        counts, meta = self.stored(verify=verify)
        return self.open(counts, meta, []) if counts and meta else None

    def folder(self, counts: TextCounts) -> Path:
        """Where the tokens of a text are kept, named by everything that determines them."""
        return self.cache_dir / "tokens" / _key([counts.sha256, self._tokenizer])

    def open(self, counts: TextCounts, meta: TokensMeta, notes: list[str]) -> PreparedData:
        """The prepared data, with `notes` on how it came about."""
        corpus = CorpusRecord(self.corpus.caption(counts), self.corpus.details(counts), counts.sha256)
        return open_prepared(self.folder(counts), meta, counts, corpus, self.config.tokenizer, notes)


def _key(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps([POLICY, *parts], sort_keys=True).encode()).hexdigest()[:40]


def _make(request: _Request, talk: Talk, verify: bool) -> tuple[TextCounts, TokensMeta, list[str]]:
    """Read, count and tokenize; of several processes that want the same tokens one makes them, the others wait."""
    talk.say(f"reading {request.corpus.label}")
    text = request.corpus.read(talk)
    evidence = request.corpus.evidence()
    counts = request.stored_counts() or count_text(text)
    refuse_empty(counts, request.corpus.label)
    if counts.overlap is None:
        counts = counts.model_copy(update={"overlap": _overlap(text, counts, talk)})
    folder, notes = request.folder(counts), list[str]()
    with _alone(folder, talk):
        meta = read_meta(folder, verify=verify)
        if meta is None:
            if (folder / META).exists():
                notes.append(f"the tokens in {folder} were damaged and have been made again")
            clear(folder)
            tokenizer, written = _tokenize(request, text, counts, folder, talk)
            if request.corpus.evidence() != evidence:
                message = f"{request.corpus.label} changed while it was read; start again once it is settled"
                raise RunError("busy", message)
            meta = write_meta(folder, tokenizer, written)
    if evidence is not None:
        write_atomic(request.counts_file(evidence), counts.model_dump_json(indent=1))
    return counts, meta, notes


def _overlap(text: Text, counts: TextCounts, talk: Talk) -> dict[Split, SplitOverlap]:
    size = counts.splits["train"].bytes
    with talk.progress("looking for test text in train", size) as update:
        return measure_overlap({**text, "train": _watched(text["train"], size, update)}, counts.splits)


def _tokenize(
    request: _Request, text: Text, counts: TextCounts, folder: Path, talk: Talk
) -> tuple[Tokenizer, dict[Split, WrittenSplit]]:
    sizes = {split: counts.splits[split].bytes for split in SPLITS}
    with talk.progress("learning the tokenizer", sizes["train"]) as update:
        tokenizer = request.tokenizer(_watched(text["train"], sizes["train"], update))
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
        done += len(row.text) if row.text.isascii() else len(row.text.encode())
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
