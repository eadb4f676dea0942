"""The tokens of parts of text seen before: a text repeats its words, so that each needs to be tokenized only once.

A part begins and ends where the words that merges stay within do (never the other way round: it may hold several of
them), so that its tokens are the same wherever it stands.
"""

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from tiedlm.data.tokenizer import Ids

Encode = Callable[[list[str]], list[list[int]]]
_Array = npt.NDArray[Any]

_LETTER, _DIGIT, _MARK, _OTHER, _BLANK, _NEWLINE, _UNSURE = range(7)
"""What a character is: ASCII of three kinds, any other that is no white space, and three kinds of white space."""
_HIGHEST = 0x3001
"""No character from here on is white space."""
_MULTIPLIER = 0x9E3779B97F4A7C15
_SLOT_BITS = 19
_MAX_PARTS, _MAX_CHARS = 1 << (_SLOT_BITS - 1), 1 << 22
"""What is kept: some 30 MB at most; then all is forgotten, so that a text may change its language on the way."""


class KnownParts:
    """Tokenizes texts by their parts: those not met before by `encode`, the others from memory.

    Parts are found by a hash of their characters, in a table with open addressing. What is found is put together to a
    text again and compared with the one asked for, so that two parts of one hash do no harm.
    """

    def __init__(self, encode: Encode, vocab_size: int) -> None:
        self._encode = encode
        self._dtype = np.dtype(np.uint16 if vocab_size <= 1 << 16 else np.uint32)
        self._hash = SpanHash()
        self._forget()

    def _forget(self) -> None:
        """Part 0 is no part, so that its number can stand for an empty slot."""
        self._slots = np.zeros(1 << _SLOT_BITS, np.int32)
        self._hashes = np.zeros(1, np.uint64)
        self._chars = _Lists(np.dtype(np.uint32))
        self._ids = _Lists(self._dtype)

    def ids(self, texts: list[str]) -> tuple[Ids, Ids]:
        """The tokens of texts, each as if it were encoded alone, in one; and how many each has."""
        text = "".join(texts)
        codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        begins = np.cumsum([0, *map(len, texts)])
        starts = _starts_of_parts(codes, begins[:-1])
        lengths = np.diff(starts, append=len(codes))
        hashes = self._hash(codes, starts, lengths)
        if len(self._hashes) > _MAX_PARTS or self._chars.size > _MAX_CHARS:
            self._forget()
        parts = self._find(hashes)
        new = np.flatnonzero(parts == 0)
        if len(new):
            self._learn(text, codes, starts[new], lengths[new], hashes[new])
            parts[new] = self._find(hashes[new])
        if not np.array_equal(self._chars.joined(parts), codes):
            return self._joined(self._encode(texts))
        ends = np.append(0, np.cumsum(self._ids.lengths[parts]))
        return self._ids.joined(parts), np.diff(ends[np.searchsorted(starts, begins)])

    def _joined(self, ids: list[list[int]]) -> tuple[Ids, Ids]:
        return np.fromiter(chain.from_iterable(ids), self._dtype), np.array(list(map(len, ids)))

    def _find(self, hashes: _Array) -> _Array:
        """The number of each part, 0 where it is not known."""
        slots = hashes >> np.uint64(64 - _SLOT_BITS)
        found: _Array = self._slots[slots]
        wrong = np.flatnonzero((found > 0) & (self._hashes[found] != hashes))
        while len(wrong):
            slots[wrong] = _after(slots[wrong])
            found[wrong] = there = self._slots[slots[wrong]]
            wrong = wrong[(there > 0) & (self._hashes[there] != hashes[wrong])]
        return found

    def _learn(self, text: str, codes: _Array, starts: _Array, lengths: _Array, hashes: _Array) -> None:
        """Remember parts of `text`; of those that have one hash, one."""
        own, first = np.unique(hashes, return_index=True)
        starts, lengths = starts[first], lengths[first]
        words = [text[begin:end] for begin, end in zip(starts.tolist(), (starts + lengths).tolist(), strict=True)]
        self._ids.extend(*self._joined(self._encode(words)))
        self._chars.extend(codes[_spans(starts, lengths)], lengths)
        numbers = np.arange(len(self._hashes), len(self._hashes) + len(own), dtype=np.int32)
        self._hashes = np.append(self._hashes, own)
        slots = own >> np.uint64(64 - _SLOT_BITS)
        while len(numbers):
            free = self._slots[slots] == 0
            self._slots[slots[free]] = numbers[free]  # where several want one slot, one of them has it
            left = self._slots[slots] != numbers
            numbers, slots = numbers[left], _after(slots[left])


class _Lists:
    """Lists of numbers, one behind the other; list 0 is empty."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.size = 0
        self._values = np.zeros(0, dtype)
        self._starts = np.zeros(1, np.int64)
        self.lengths = np.zeros(1, np.int64)

    def extend(self, values: _Array, lengths: _Array) -> None:
        """Add lists of these `lengths`, which `values` are in one."""
        self._starts = np.append(self._starts, self.size + np.cumsum(lengths) - lengths)
        self.lengths = np.append(self.lengths, lengths)
        end = self.size + len(values)
        if end > len(self._values):
            self._values = np.resize(self._values, 2 * end)
        self._values[self.size : end] = values
        self.size = end

    def joined(self, which: _Array) -> _Array:
        """The lists `which` in one."""
        joined: _Array = self._values[_spans(self._starts[which], self.lengths[which])]
        return joined


def _spans(starts: _Array, lengths: _Array) -> _Array:
    """The indices of spans, one behind the other."""
    places = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    places += np.arange(len(places))
    return places


def _after(slots: _Array) -> _Array:
    return (slots + np.uint64(1)) & np.uint64((1 << _SLOT_BITS) - 1)


def _kinds() -> _Array:
    kinds = np.full(_HIGHEST + 1, _OTHER, np.uint8)
    for code in range(_HIGHEST):
        character = chr(code)
        if character.isspace() or code < ord(" ") or code == 0x180E:  # white space in some edition of Unicode
            kinds[code] = _UNSURE
        elif character.isascii() and character != "'":
            kinds[code] = _LETTER if character.isalpha() else _DIGIT if character.isdigit() else _MARK
    kinds[ord(" ")], kinds[ord("\n")] = _BLANK, _NEWLINE
    return kinds


def _borders() -> _Array:
    """Whether a word always ends between two kinds of characters, (7, 7)."""
    borders = np.zeros((7, 7), bool)
    borders[_NEWLINE] = True
    known = [_LETTER, _DIGIT, _MARK]
    borders[np.ix_(known, known)] = ~np.eye(3, dtype=bool)
    borders[np.ix_([*known, _OTHER], [_BLANK, _NEWLINE])] = True
    return borders


_KINDS, _BORDERS = _kinds(), _borders().ravel()


def _starts_of_parts(codes: _Array, texts: _Array) -> _Array:
    """Where parts begin among the characters; one begins with each text.

    An apostrophe may belong to what stands before or behind it, and what is not ASCII may be a letter, a number or
    neither: no part begins beside those but at a blank. Of several blanks the last one belongs to the word behind it.
    """
    kinds = _KINDS[np.minimum(codes, _HIGHEST)]
    starts = np.zeros(len(codes) + 1, bool)
    starts[texts] = True
    blank, goes_on = kinds == _BLANK, (kinds <= _OTHER) & ~starts[:-1]
    starts[1:-1] |= _BORDERS[kinds[:-1] * np.uint8(7) + kinds[1:]]
    starts[1:-2] |= blank[:-2] & blank[1:-1] & goes_on[2:]
    return np.flatnonzero(starts[:-1])


def _powers(base: int, count: int) -> _Array:
    factors = np.full(count, base, np.uint64)
    factors[:1] = 1
    return np.cumprod(factors)


class SpanHash:
    """A polynomial of the characters of a span, modulo 2^64; its high bits depend on all of them."""

    def __init__(self) -> None:
        self._powers = self._inverse = np.zeros(0, np.uint64)

    def __call__(self, codes: _Array, starts: _Array, lengths: _Array) -> _Array:
        """The hash of each span of `codes`."""
        if len(codes) > len(self._powers):
            self._powers = _powers(_MULTIPLIER, len(codes))
            self._inverse = _powers(pow(_MULTIPLIER, -1, 1 << 64), len(codes))
        before = np.zeros(len(codes) + 1, np.uint64)
        np.multiply(codes, self._powers[: len(codes)], out=before[1:])
        np.cumsum(before, out=before)
        hashes: _Array = before[starts + lengths] - before[starts]
        hashes *= self._inverse[starts]
        hashes *= np.uint64(_MULTIPLIER)
        return hashes
