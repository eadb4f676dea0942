"""How much of the validation and test split stands in the train split too: documents, and runs of 8 words.

Words are what white space separates; they, runs and documents are compared by hashes of 64 bits. Each split is read
once, in batches, so that memory does not grow with the train split.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tiedlm.data.config import Split
from tiedlm.data.counting import SplitCounts, SplitOverlap
from tiedlm.data.documents import Row, Text
from tiedlm.data.encoding_cache import SpanHash

HELD_OUT: tuple[Split, ...] = ("validation", "test")
_RUN = 8
_SAMPLES = 20_000
"""About how many runs of a split are looked for, evenly spaced over it."""
_BATCH_BYTES = 1 << 17
_FILTER_BITS = 20
_Hashes = npt.NDArray[np.uint64]
_Ints = npt.NDArray[np.int64]
_FACTORS = [np.uint64(value) for value in (0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB)]
_IS_SPACE = np.isin(np.arange(256), list(b" \t\n\r\v\f"))


def measure_overlap(text: Text, counts: Mapping[Split, SplitCounts]) -> dict[Split, SplitOverlap]:
    """What of each held-out split the train split has too, white space aside."""
    samples = {split: _sample(text[split], counts[split]) for split in HELD_OUT}
    documents = _Wanted(np.concatenate([sample.documents for sample in samples.values()]))
    runs = _Wanted(np.concatenate([sample.runs for sample in samples.values()]))
    for part in _parts(text["train"]):
        documents.mark(part.documents)
        runs.mark(part.runs)
    return {
        split: SplitOverlap(
            documents=len(sample.documents),
            documents_in_train=documents.num_found(sample.documents),
            sampled_8grams=len(sample.runs),
            sampled_8grams_in_train=runs.num_found(sample.runs),
        )
        for split, sample in samples.items()
    }


class _Part(NamedTuple):
    """Hashes of the documents that end in a part of a split, and of the runs in it with their places among the words.

    A document without a word is none, and no run reaches from one document into the next.
    """

    documents: _Hashes
    runs: _Hashes
    places: _Ints


def _sample(rows: Iterable[Row], counts: SplitCounts) -> _Part:
    """All documents of a split, and of its runs those at every so many words."""
    step = max(1, (counts.words - counts.rows) // _SAMPLES)
    chosen = [
        _Part(part.documents, part.runs[part.places % step == 0], part.places[part.places % step == 0])
        for part in _parts(rows)
    ]
    return _Part(*map(np.concatenate, zip(*chosen, strict=True)))


def _parts(rows: Iterable[Row]) -> Iterator[_Part]:
    documents, runs = _DocumentHashes(), _RunHashes()
    for words, numbers in _hashed_words(rows):
        yield _Part(documents(words, numbers), *runs(words, numbers))
    yield _Part(documents.last(), np.zeros(0, np.uint64), np.zeros(0, np.int64))


def _hashed_words(rows: Iterable[Row]) -> Iterator[tuple[_Hashes, _Ints]]:
    """The hash of every word, and the number of the document that it stands in, in batches that are not empty."""
    span_hash, number = SpanHash(), 0
    for batch in _batches(rows):
        codes = np.frombuffer(b"".join(data for data, _ in batch), np.uint8)
        edges = np.diff(~_IS_SPACE[codes], prepend=False, append=False)
        begins, ends = np.flatnonzero(edges).reshape(-1, 2).T
        offsets = np.cumsum([0, *(len(data) for data, _ in batch)])[:-1]
        documents = offsets[[starts for _, starts in batch]]
        if len(begins):
            hashes = span_hash(codes + np.uint16(1), begins, ends - begins)  # a NUL is a character like others
            yield _mixed(hashes), number + np.searchsorted(documents, begins, "right")
        number += len(documents)


def _batches(rows: Iterable[Row]) -> Iterator[list[tuple[bytes, bool]]]:
    """Rows as UTF-8 with whether they start a document, some at a time; a row that is very long is cut."""
    batch, size = list[tuple[bytes, bool]](), 0
    for text, starts_document in rows:
        for begin in range(0, len(text), _BATCH_BYTES):
            batch.append((text[begin : begin + _BATCH_BYTES].encode(), starts_document and begin == 0))
            size += len(batch[-1][0])
            if size >= _BATCH_BYTES:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


class _DocumentHashes:
    """The hashes of documents: sums over their words, each mixed with its place, which can be added up in parts."""

    def __init__(self) -> None:
        self._num_words = 0
        self._number, self._begin = -1, 0  # of the document that may go on
        self._sum = np.zeros(0, np.uint64)  # (1,) once there is one

    def __call__(self, words: _Hashes, numbers: _Ints) -> _Hashes:
        """Those of the documents that are known to have ended."""
        present, first = np.unique(numbers, return_index=True)
        begins = first + self._num_words
        goes_on = present[0] == self._number
        if goes_on:
            begins[0] = self._begin
        places = self._num_words + np.arange(len(words)) - np.repeat(begins, np.diff(first, append=len(words)))
        sums = np.add.reduceat(_mixed(words + places.astype(np.uint64) * _FACTORS[1]), first)
        if goes_on:
            sums[:1] += self._sum
        ended = sums[:-1] if goes_on else np.concatenate([self._sum, sums[:-1]])
        self._num_words += len(words)
        self._number, self._begin, self._sum = int(present[-1]), int(begins[-1]), sums[-1:]
        return ended

    def last(self) -> _Hashes:
        """That of the document at the end of the split, if it has one."""
        return self._sum


class _RunHashes:
    """The hashes of all runs of words of one document, and where each begins."""

    def __init__(self) -> None:
        self._num_words = 0
        self._words, self._numbers = np.zeros(0, np.uint64), np.zeros(0, np.int64)

    def __call__(self, words: _Hashes, numbers: _Ints) -> tuple[_Hashes, _Ints]:
        """Those that end in these words; a run may have begun in the words before."""
        joined, documents = np.concatenate([self._words, words]), np.concatenate([self._numbers, numbers])
        num_runs = max(0, len(joined) - _RUN + 1)
        hashes = np.zeros(num_runs, np.uint64)
        for place in range(_RUN):
            hashes = hashes * _FACTORS[2] + joined[place : place + num_runs]
        in_one = documents[:num_runs] == documents[len(documents) - num_runs :]
        places = self._num_words - len(self._words) + np.flatnonzero(in_one)
        self._num_words += len(words)
        self._words, self._numbers = joined[1 - _RUN :], documents[1 - _RUN :]
        return _mixed(hashes[in_one]), places


class _Wanted:
    """Hashes that are looked for, and which of them were found."""

    def __init__(self, hashes: _Hashes) -> None:
        self._hashes = np.unique(hashes)
        self._is_found = np.zeros(len(self._hashes), bool)
        self._may_be = np.zeros(1 << _FILTER_BITS, bool)  # by its high bits; tells nearly all that are not wanted
        self._may_be[_high_bits(self._hashes)] = True

    def mark(self, hashes: _Hashes) -> None:
        """Take note of those of `hashes` that are wanted."""
        likely = hashes[self._may_be[_high_bits(hashes)]]
        places = np.searchsorted(self._hashes, likely)
        places[places == len(self._hashes)] = 0
        self._is_found[places[self._hashes[places] == likely]] = True

    def num_found(self, hashes: _Hashes) -> int:
        """How many of `hashes`, all of them wanted, were found."""
        return int(self._is_found[np.searchsorted(self._hashes, hashes)].sum())


def _high_bits(hashes: _Hashes) -> _Hashes:
    return hashes >> np.uint64(64 - _FILTER_BITS)


def _mixed(values: _Hashes) -> _Hashes:
    """Hashes each of whose high bits depends on all bits of a value."""
    values = (values ^ (values >> np.uint64(32))) * _FACTORS[0]
    return values ^ (values >> np.uint64(32))
