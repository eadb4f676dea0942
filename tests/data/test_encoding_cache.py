"""Parts of text met before: their tokens are those that the library gives the whole text, whatever stands in it."""

import random
import unicodedata
from collections import Counter
from typing import Any

import numpy as np
import pytest
from tokenizers import Regex, pre_tokenizers

from tests.support.tokenizers import trained
from tiedlm.data import encoding_cache
from tiedlm.data.documents import rows_of
from tiedlm.data.encoding_cache import KnownParts

AWKWARD = [
    *(
        "a",
        "it",
        "'s",
        "'ll",
        "'re",
        "'x",
        "''",
        "B",
        "word",
        "7",
        "42",
        ",",
        "...",
        '"',
        "<|endoftext|>",
        "\x00",
        "\x7f",
    ),
    *(" ", " ", "  ", "   ", " " * 199, " " * 203, "\n", "\n\n", "\t", "\r\n", "\r", "\x0b", "\x1c", "\x1f", "\x85"),
    *("\xa0", "\u1680", "\u180e", "\u2003", "\u200b", "\u2028", "\u2029", "\u202f", "\u3000", "\ufeff", "–", "’", "²"),
    *(
        "é",
        "e\u0301",
        "ß",
        "Ж",
        "½",
        "Ⅷ",
        "٣",
        "日本",
        "語",
        "😀",
        "👩\u200d👧",
        "\U00020000",
        "z" * 201,
        "9" * 201,
        "!" * 201,
    ),
]


class Watched:
    """The library's tokenizer, with every text that it was given."""

    def __init__(self) -> None:
        sample = "it's the text, the word of 42 days – é 日本 ...\n    and  \n   or \t it\n" * 9
        self.bpe: Any = trained({"type": "bpe", "vocab_size": 330}, list(rows_of(sample)))
        self.given = Counter[str]()

    def encode(self, texts: list[str]) -> list[list[int]]:
        self.given.update(texts)
        return [self.bpe.encode(text) for text in texts]

    def known(self) -> KnownParts:
        return KnownParts(self.encode, self.bpe.vocab_size)


@pytest.fixture(scope="module")
def library() -> Watched:
    return Watched()


def ids_of(known: KnownParts, texts: list[str]) -> list[list[int]]:
    ids, lengths = known.ids(texts)
    return [part.tolist() for part in np.split(ids, np.cumsum(lengths)[:-1])]


def texts_of(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices(AWKWARD, k=draw.randint(1, 40))) for _ in range(count)]


@pytest.mark.parametrize("seed", range(4))
def test_awkward_texts_have_the_tokens_of_each_alone(library: Watched, seed: int) -> None:
    known = library.known()
    for texts in (texts_of(seed, 200), texts_of(seed, 50), texts_of(seed + 100, 200)):
        assert ids_of(known, texts) == [library.bpe.encode(text) for text in texts]


def test_texts_that_end_in_blanks_do_not_take_them_to_the_next(library: Watched) -> None:
    texts = ["a  ", "b", "   ", "\tc ", " ", "d\n", " ", "\n", "x", "'s", "é", "é"]
    assert ids_of(library.known(), texts) == [library.bpe.encode(text) for text in texts]


def test_what_the_library_takes_for_white_space_is_never_a_border_of_other_kinds() -> None:
    """What counts as no white space here is none there: all of Unicode but ideographs and what is not assigned."""
    every = "".join(c for c in map(chr, range(0x110000)) if unicodedata.category(c) not in {"Lo", "Cn", "Co", "Cs"})
    split = pre_tokenizers.Split(Regex(r"\s+"), behavior="removed")
    kept = {character for word, _ in split.pre_tokenize_str(every) for character in word}
    white = set(every) - kept
    codes = np.minimum(np.array([ord(character) for character in white]), encoding_cache._HIGHEST)
    assert {" ", "\n", "\t", "\xa0", "\u3000"} <= white
    assert not set(encoding_cache._KINDS[codes].tolist()) & set(range(encoding_cache._OTHER + 1))


def test_a_part_is_tokenized_once(library: Watched) -> None:
    library.given.clear()
    known = library.known()
    for count in range(1, 6):
        known.ids([f"one two, {'three ' * count}\n", "one two\n"])
    assert library.given == dict.fromkeys(["one", " two", ",", " three", " \n", "\n"], 1)


def test_parts_of_one_hash_are_told_apart(library: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    known = library.known()
    monkeypatch.setattr(known, "_hash", lambda codes, starts, lengths: lengths.astype(np.uint64))
    for texts in (["one two six\n", "ten\n"], ["ten six two\n"], ["a b c\n"]):
        assert ids_of(known, texts) == [library.bpe.encode(text) for text in texts]


def test_parts_that_want_one_slot_all_find_a_place(library: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that differ in their last bits alone, the first of which choose the slot."""
    known = library.known()
    monkeypatch.setattr(
        known, "_hash", lambda codes, starts, lengths: np.uint64((1 << 64) - 999) + codes[starts + lengths - 1]
    )
    words = [f"{letter}" for letter in "abcdefghijklmnop"]
    library.given.clear()
    for _ in range(3):
        assert ids_of(known, words) == [library.bpe.encode(word) for word in words]
    assert library.given == dict.fromkeys(words, 1)


def test_what_is_kept_is_bounded_and_what_was_forgotten_is_learned_again(
    library: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding_cache, "_MAX_PARTS", 50)
    known = library.known()
    for number in range(40):
        texts = [f"{' '.join(str(number * word) for word in range(20))} same\n"]
        assert ids_of(known, texts) == [library.bpe.encode(text) for text in texts]
        assert len(known._hashes) <= 50 + 22
