"""What a token is a piece of: a word, a number, punctuation, white space.

A type has a shape, from what it adds to a text; a token has a kind, from its shape and from the token before it. So the
first piece of a word is told from those that go on with one whether or not the tokenizer puts a space into it: at the
start of a line, after a bracket, and among single bytes too.
"""

import unicodedata
from collections.abc import Sequence
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from tiedlm.data.tokenizer import Ids

KINDS = ("word start", "continuation", "digits", "punctuation", "white space", "byte fragment", "special")


class Shape(IntEnum):
    """Of a type. LETTERS goes on with a word where one stands before it, SPACED_LETTERS never does."""

    SPACED_LETTERS = 0
    LETTERS = 1
    DIGITS = 2
    PUNCTUATION = 3
    SPACE = 4
    FRAGMENT = 5
    SPECIAL = 6


def shape_of(spelling: str) -> Shape:
    """From the text that a type adds; letters outweigh digits, digits outweigh punctuation (symbols, too)."""
    if not spelling:
        return Shape.SPECIAL
    classes = {unicodedata.category(symbol)[0] for symbol in spelling if symbol != "\N{REPLACEMENT CHARACTER}"}
    if classes & {"L", "M"}:  # a mark belongs to a letter
        return Shape.SPACED_LETTERS if spelling[0].isspace() else Shape.LETTERS
    if "N" in classes:
        return Shape.DIGITS
    if spelling.isspace():
        return Shape.SPACE
    return Shape.PUNCTUATION if classes - {"Z"} else Shape.FRAGMENT


def shapes_of(spellings: Sequence[str]) -> npt.NDArray[np.uint8]:
    """The shape of every type, (V,)."""
    return np.fromiter(map(shape_of, spellings), np.uint8, len(spellings))


def kinds_of(shapes: npt.NDArray[np.uint8], ids: Ids, preceding: Ids) -> npt.NDArray[np.uint8]:
    """The kind of every token as an index into KINDS, (N,); `preceding` (N,) are the ids one before `ids`."""
    kinds, before = shapes[ids], shapes[preceding]
    starts = (kinds == Shape.LETTERS) & (before != Shape.LETTERS) & (before != Shape.SPACED_LETTERS)
    kinds[starts] = Shape.SPACED_LETTERS
    return kinds
