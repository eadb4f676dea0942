"""Pairs of words with the similarity that people gave them: do cosines of rows rank them alike?"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from tiedlm.config.base import ConfigError, Problem
from tiedlm.embeddings.frequency import spearman
from tiedlm.embeddings.matrix import Matrix
from tiedlm.paths import reason

BEFORE_A_WORD = ("Ġ", "▁", "")
"""What stands before a word: a space in BPE of bytes, one in SentencePiece, nothing."""
FEWEST = 3


class WordPair(NamedTuple):
    """Two words, and their score: the larger the more similar."""

    one: str
    other: str
    score: float


class Agreement(NamedTuple):
    """Spearman's correlation of scores and cosines over the pairs whose words are both one token; 0 by chance."""

    spearman: float | None
    num_pairs: int


def read_word_pairs(path: Path) -> tuple[WordPair, ...]:
    """A line has two words and, after them, a first number, with tabs, commas, semicolons or spaces between.

    Lines that begin with # are left out, and a first line without a number. Raises ConfigError.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        said = reason(error, path) if isinstance(error, OSError) else "it is no UTF-8"
        raise ConfigError(Problem("--pairs", f"{path} cannot be read: {said}")) from None
    pairs = tuple(_parsed(path, lines))
    if len(pairs) < FEWEST:
        raise ConfigError(Problem("--pairs", f"{path} holds {len(pairs)} pairs: at least {FEWEST} are needed"))
    return pairs


def _parsed(path: Path, lines: Sequence[str]) -> Iterator[WordPair]:
    for number, line in enumerate(lines, start=1):
        cells = re.split(r"\s*[\t,;]\s*" if re.search(r"[\t,;]", line.strip()) else r"\s+", line.strip())
        scores = [cell for cell in cells[2:] if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", cell)]
        if scores:
            yield WordPair(cells[0], cells[1], float(scores[0]))
        elif line.strip() and number > 1 and not line.startswith("#"):
            raise ConfigError(Problem("--pairs", f"{path}, line {number}: {line[:60]!r} is no two words and a number"))


def agreement(matrix: Matrix, place_of: Mapping[str, int], pairs: Sequence[WordPair]) -> Agreement:
    """Cosines are of centred rows: the mean row, which all have, says nothing of any two."""
    known = [
        (one, other, pair.score)
        for pair in pairs
        if (one := _place(place_of, pair.one)) is not None and (other := _place(place_of, pair.other)) is not None
    ]
    if len(known) < FEWEST:
        return Agreement(None, len(known))
    mine, theirs = (matrix.at(torch.tensor([each[side] for each in known])) - matrix.mean for side in (0, 1))
    cosines = torch.nn.functional.cosine_similarity(mine, theirs)
    return Agreement(spearman(cosines, torch.tensor([score for *_, score in known])), len(known))


def _place(place_of: Mapping[str, int], word: str) -> int | None:
    """The place of the token that is a word, with the space before it where there is such a token."""
    return next((place_of[token] for token in (before + word for before in BEFORE_A_WORD) if token in place_of), None)
