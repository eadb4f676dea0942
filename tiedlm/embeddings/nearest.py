"""The nearest neighbours of chosen tokens in each matrix, side by side: for the eye."""

import difflib
from collections.abc import Iterator, Sequence

import torch

from tiedlm.config.base import ConfigError, Problem
from tiedlm.embeddings.neighbours import K, nearest
from tiedlm.embeddings.schema import Nearest, Neighbour
from tiedlm.embeddings.sides import MeasuredSide, Sides
from tiedlm.embeddings.word_pairs import BEFORE_A_WORD


def nearest_tokens(sides: Sides, words: Sequence[str], k: int = K) -> list[Nearest]:
    """For each token that one of the words may mean, with or without a space before it, its neighbours in each matrix.

    Raises ConfigError where a word is no token that is measured, or tokens have no names.
    """
    return [found for word in words for found in _of_word(sides, word, k)]


def _of_word(sides: Sides, word: str, k: int) -> Iterator[Nearest]:
    num_found = 0
    for token in (before + word for before in BEFORE_A_WORD):
        for side in sides.sides:
            found = _of_token(side, token, k)
            if found is not None:
                num_found += 1
                yield found
    if num_found == 0:
        names = _names(sides.sides[0])
        near = difflib.get_close_matches(word, names, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        raise ConfigError(Problem("--tokens", f"{word!r} is no token that was measured{hint}"))


def _of_token(side: MeasuredSide, token: str, k: int) -> Nearest | None:
    names = _names(side)
    if token not in names or len(names) < 2:
        return None
    cosines, places = nearest(side.matrix, torch.tensor([names.index(token)]), min(k, len(names) - 1))
    around = [
        Neighbour(token=names[place], cosine=cosine)
        for place, cosine in zip(places[0].tolist(), cosines[0].tolist(), strict=True)
    ]
    return Nearest(token=token, model=side.pair.name, side=side.side, neighbours=around)


def _names(side: MeasuredSide) -> list[str]:
    if side.names is None:
        message = f"the tokens of {side.pair.name} have no names: {side.pair.absent['tokens']}"
        raise ConfigError(Problem("--tokens", message))
    return side.names
