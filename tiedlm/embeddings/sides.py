"""The matrices that are measured together: rows of the same tokens in the same order, matched by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from tiedlm.embeddings.matrix import Matrix, usable_rows
from tiedlm.embeddings.neighbours import K, nearest, queries
from tiedlm.embeddings.pair import EmbeddingPair
from tiedlm.embeddings.schema import Side, SideOf


class MeasuredSide:
    """One matrix of a model, at the tokens that are measured; `index` are their rows in the model.

    What is expensive is worked out once: where a model has one matrix for both sides, both are this one object.
    """

    def __init__(self, pair: EmbeddingPair, side: Side, index: Tensor, num_queries: int | None) -> None:
        self.pair, self.side, self.index = pair, side, index
        self.matrix = Matrix(pair.input if side == "input" else pair.output, index)
        self._num_queries = num_queries

    @property
    def name(self) -> SideOf:
        """Whose matrix it is."""
        return SideOf(model=self.pair.name, side=self.side)

    @property
    def counts(self) -> Tensor | None:
        """How often each of the tokens was seen (V,)."""
        return None if self.pair.counts is None else self.pair.counts[self.index]

    @property
    def start(self) -> Matrix:
        """The same rows before training; raises UnknownStartError."""
        start = self.pair.start
        return Matrix(start.input if self.side == "input" else start.output, self.index)

    @cached_property
    def names(self) -> list[str] | None:
        """The names of the tokens; None where they are not known."""
        tokens = self.pair.tokens
        return None if tokens is None else [tokens[row] for row in self.index.tolist()]

    @cached_property
    def queries(self) -> Tensor:
        """The places of the tokens whose neighbours are looked for."""
        return queries(self.matrix.num_rows, self._num_queries)

    @cached_property
    def neighbours(self) -> Tensor:
        """The places of the K nearest of each of the queries."""
        return nearest(self.matrix, self.queries, K)[1]


@dataclass(frozen=True)
class Sides:
    """The matrices of some models, one for each side or one for both; `apart` says why models are not compared."""

    models: Sequence[EmbeddingPair]
    sides: list[MeasuredSide]
    notes: list[str]
    apart: str | None = None

    def of(self, model: EmbeddingPair) -> list[MeasuredSide]:
        """Those of one model."""
        return [side for side in self.sides if side.pair is model]

    def pairs(self) -> list[tuple[MeasuredSide, MeasuredSide]]:
        """Within each model its input and its output, then each matrix of the others beside each of the last model."""
        own = [(self.of(model)[0], self.of(model)[1]) for model in self.models if len(self.of(model)) == 2]
        if self.apart is not None:
            return own
        *others, last = self.models
        return own + [(left, right) for model in others for left in self.of(model) for right in self.of(last)]


def sides_of(models: Sequence[EmbeddingPair], num_queries: int | None) -> Sides:
    """The matrices of some models. Tokens whose row is 0 or not finite in one of them are left out, and said."""
    indices, notes, apart = _matched(models)
    groups = [[place] for place in range(len(models))] if apart else [[*range(len(models))]]
    sides: list[MeasuredSide] = []
    for group in groups:
        found = [side for place in group for side in _both(models[place], indices[place], num_queries)]
        usable = usable_rows(*(side.matrix for side in found))
        notes += _left_out(found, usable)
        kept = usable.nonzero().squeeze(1)
        sides += [MeasuredSide(side.pair, side.side, side.index[kept], num_queries) for side in found]
    return Sides(models, sides, notes, apart)


def _both(model: EmbeddingPair, index: Tensor, num_queries: int | None) -> list[MeasuredSide]:
    names: list[Side] = ["input"] if model.is_one_matrix else ["input", "output"]
    return [MeasuredSide(model, side, index, num_queries) for side in names]


def _matched(models: Sequence[EmbeddingPair]) -> tuple[list[Tensor], list[str], str | None]:
    """The rows of each model that are measured, what is to be said of that, and why the two are not compared."""
    every = [torch.arange(model.vocab_size) for model in models]
    if len(models) == 1:
        return every, [], None
    places: list[dict[str, int]] = []
    for model in models:
        if model.tokens is None:
            return every, [], f"the tokens of {model.name} have no names ({model.absent['tokens']})"
        places.append({token: place for place, token in enumerate(model.tokens)})
    common = [token for token in places[0] if all(token in known for known in places[1:])]
    if not common:
        return every, [], "the vocabularies have no token in common"
    sizes = dict.fromkeys(f"{model.vocab_size:,}" for model in models)
    is_all = all(len(common) == model.vocab_size for model in models)
    said = f"Of {' and '.join(sizes)} tokens {len(common):,} are in every vocabulary: all is measured on these."
    return [torch.tensor([known[token] for token in common]) for known in places], [] if is_all else [said], None


def _left_out(sides: Sequence[MeasuredSide], usable: Tensor) -> list[str]:
    if bool(usable.all()):
        return []
    said = []
    for side in sides:
        norms = side.matrix.norms
        zero, broken = int((norms == 0).sum()), int((~norms.isfinite()).sum())
        faults = [f"{count:,} {what}" for count, what in ((zero, "are 0"), (broken, "are not finite")) if count]
        if faults:
            said.append(f"of the rows of {side.pair.name}'s {side.side} {' and '.join(faults)}")
    num_lost = int((~usable).sum())
    lost = "one token is" if num_lost == 1 else f"{num_lost:,} tokens are"
    return [f"{'; '.join(said).capitalize()}: {lost} left out of everything."]
