"""Every measure of one matrix and of a pair of them, each with its reason where it cannot be taken."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from tiedlm.embeddings import schema
from tiedlm.embeddings.alignment import Fit, identity, linear, orthogonal
from tiedlm.embeddings.frequency import frequency
from tiedlm.embeddings.isotropy import effective_rank, isotropy, normal_effective_rank, normal_isoscore
from tiedlm.embeddings.matrix import MatrixPair
from tiedlm.embeddings.movement import Movement, movement
from tiedlm.embeddings.neighbours import K, hubness, overlap_chance, overlaps
from tiedlm.embeddings.pair import UnknownStartError
from tiedlm.embeddings.sides import MeasuredSide
from tiedlm.embeddings.similarity import linear_cka, symmetric_share
from tiedlm.run.token_types import BINS, bins_of

Values = tuple[Tensor, Tensor | None]
"""A figure of each of some tokens (n,), and their places; None: of all, in order."""
Said = Callable[[str], None]

_FEWEST_SEEN = 4


@dataclass(frozen=True)
class Asked:
    """Which of MEASURES to take, whether also by frequency, and how many queries for neighbours (None: all)."""

    measures: frozenset[str] = frozenset(schema.MEASURES)
    by_frequency: bool = False
    num_queries: int | None = None

    def of_matrix(self) -> list[str]:
        """The measures of one matrix that are asked for."""
        return [name for name in _OF_MATRIX if name in self.measures]

    def of_pair(self) -> list[str]:
        """Those of a pair."""
        return [name for name in _OF_PAIR if name in self.measures]


class UnusableError(Exception):
    """A measure cannot be taken; the message is the reason."""


@dataclass
class _Taken:
    """What was found: `fields` of the schema, `tokens` for the breakdown by frequency, reasons of what is null."""

    fields: dict[str, object] = field(default_factory=dict)
    tokens: dict[str, Values] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)


def measure_side(side: MeasuredSide, asked: Asked, step: Said = lambda words: None) -> schema.MatrixMeasures:
    """The measures of one matrix; `step` hears of each."""
    taken = _Taken()
    for name in asked.of_matrix():
        _take(name, taken, lambda name=name: _OF_MATRIX[name](side, taken), side.matrix.num_rows)  # type: ignore[misc]
        step(name)
    if side.matrix.num_rows:
        taken.tokens["norm"] = (side.matrix.norms, None)
    return schema.MatrixMeasures(
        model=side.pair.name,
        side=side.side,
        num_tokens=side.matrix.num_rows,
        dim=side.matrix.dim,
        by_frequency=_bins(side, taken.tokens) if asked.by_frequency else [],
        absent=taken.absent,
        **taken.fields,  # type: ignore[arg-type]
    )


def measure_pair(
    one: MeasuredSide, other: MeasuredSide, asked: Asked, step: Said = lambda words: None
) -> schema.PairMeasures:
    """The measures of two matrices with the same tokens; `step` hears of each."""
    pair, taken = _Pair(one, other), _Taken()
    for name in asked.of_pair():
        _take(name, taken, lambda name=name: _OF_PAIR[name](pair, taken), one.matrix.num_rows)  # type: ignore[misc]
        step(name)
    return schema.PairMeasures(
        a=one.name,
        b=other.name,
        num_tokens=one.matrix.num_rows,
        by_frequency=_bins(one, taken.tokens) if asked.by_frequency else [],
        absent=taken.absent,
        **taken.fields,  # type: ignore[arg-type]
    )


def _take(name: str, taken: _Taken, measure: Callable[[], None], num_tokens: int) -> None:
    try:
        if num_tokens < 2:
            raise UnusableError("fewer than 2 tokens are left to measure")
        measure()
    except UnusableError as error:
        taken.absent[_KEY_OF.get(name, name)] = str(error)


class _Pair:
    """Two sides, and what their measures share."""

    def __init__(self, one: MeasuredSide, other: MeasuredSide) -> None:
        self.one, self.other = one, other
        self.matrices = MatrixPair(one.matrix, other.matrix)

    @property
    def has_one_width(self) -> bool:
        return self.one.matrix.dim == self.other.matrix.dim

    @property
    def widths(self) -> str:
        return f"the widths differ, {self.one.matrix.dim:,} and {self.other.matrix.dim:,}"

    @property
    def is_path(self) -> bool:
        """Whether these are the two ends of one model's direct path."""
        return self.one.pair is self.other.pair and (self.one.side, self.other.side) == ("input", "output")

    def check_varies(self) -> None:
        for side in (self.one, self.other):
            _check_varies(side)


def _check_varies(side: MeasuredSide) -> None:
    if side.matrix.is_constant:
        raise UnusableError(f"all rows of {side.pair.name}'s {side.side} are equal")


def _check_enough_for_neighbours(side: MeasuredSide) -> None:
    num_rows = side.matrix.num_rows
    if num_rows < K + 2:
        raise UnusableError(f"{K} neighbours take at least {K + 2} tokens, and there are {num_rows}")


def _isotropy(side: MeasuredSide, taken: _Taken) -> None:
    _check_varies(side)
    found, size = isotropy(side.matrix), (side.matrix.num_rows, side.matrix.dim)
    taken.fields["isotropy"] = schema.Isotropy(isoscore_normal=normal_isoscore(*size), **found._asdict())
    if found.isoscore is None:
        taken.absent["isotropy.isoscore"] = "rows of width 1 have one direction"


def _rank(side: MeasuredSide, taken: _Taken) -> None:
    taken.fields["effective_rank"] = effective_rank(side.matrix)
    taken.fields["effective_rank_normal"] = normal_effective_rank(side.matrix.num_rows, side.matrix.dim)


def _frequency(side: MeasuredSide, taken: _Taken) -> None:
    counts = side.counts
    if counts is None:
        raise UnusableError(side.pair.absent.get("counts", "how often each token was seen is not known"))
    seen = (counts > 0).nonzero().squeeze(1)
    if len(seen) < _FEWEST_SEEN:
        raise UnusableError(f"fewer than {_FEWEST_SEEN} of the tokens were seen in training")
    found = frequency(side.matrix.only(seen), counts[seen])
    taken.fields["frequency"] = schema.FrequencyFit(num_tokens=len(seen), **found._asdict())
    if found.spearman is None or found.r2 is None:
        reason = "lengths, rows or counts do not vary"
        taken.absent |= {f"frequency.{key}": reason for key in ("spearman", "r2") if getattr(found, key) is None}
    if found.direction is None:
        taken.absent["frequency.direction"] = "the rows say next to nothing of ln count"


def _hubness(side: MeasuredSide, taken: _Taken) -> None:
    _check_enough_for_neighbours(side)
    found = hubness(side.neighbours, side.matrix.num_rows)
    if found is None:
        raise UnusableError("each token is a neighbour equally often")
    taken.fields["hubness"] = schema.Hubs(k=K, num_queries=len(side.queries), **found._asdict())


def _distance(side: MeasuredSide, taken: _Taken) -> None:
    try:
        moved = movement(MatrixPair(side.start, side.matrix))
    except UnknownStartError as error:
        raise UnusableError(str(error)) from None
    if bool(moved.distance.isnan().any()):
        raise UnusableError("rows started at 0, from where no distance is relative")
    taken.fields["distance"] = schema.Distance(relative=_mean(moved.distance), cosine=_mean(moved.cosine))
    taken.tokens |= {key: (getattr(moved, key), None) for key in Movement._fields}


_OF_MATRIX: Mapping[str, Callable[[MeasuredSide, _Taken], None]] = {
    "isotropy": _isotropy,
    "rank": _rank,
    "frequency": _frequency,
    "neighbours": _hubness,
    "distance": _distance,
}


def _alignment(pair: _Pair, taken: _Taken) -> None:
    pair.check_varies()
    fits: dict[str, Fit] = {}
    if pair.has_one_width:
        fits["identity"] = identity(pair.matrices)
        fits["orthogonal"] = orthogonal(pair.matrices)
    else:
        taken.absent |= {f"alignment.{key}": pair.widths for key in ("identity", "orthogonal")}
    fits["linear"] = linear(pair.matrices)
    taken.fields["alignment"] = schema.Alignments(**{key: _alignment_of(fit) for key, fit in fits.items()})
    taken.tokens |= {key: (fit.cosines, fit.places) for key, fit in fits.items()}


def _alignment_of(fit: Fit) -> schema.Alignment:
    return schema.Alignment(held_out=fit.held_out, held_out_range=fit.range, in_sample=fit.in_sample, floor=fit.floor)


def _cka(pair: _Pair, taken: _Taken) -> None:
    pair.check_varies()
    found = linear_cka(pair.matrices)
    taken.fields |= {"cka": found.value, "cka_chance": found.chance}


def _neighbours(pair: _Pair, taken: _Taken) -> None:
    _check_enough_for_neighbours(pair.one)
    shares, num_rows = overlaps(pair.one.neighbours, pair.other.neighbours), pair.one.matrix.num_rows
    taken.fields["neighbours"] = schema.Neighbours(
        overlap=_mean(shares), chance=overlap_chance(num_rows), k=K, num_queries=len(shares)
    )
    taken.tokens["overlap"] = (shares, pair.one.queries)


def _symmetry(pair: _Pair, taken: _Taken) -> None:
    if not pair.is_path:
        raise UnusableError("only the input and the output of one model have a direct path between them")
    if not pair.has_one_width:
        raise UnusableError(pair.widths)
    found = symmetric_share(pair.matrices)
    taken.fields |= {"symmetric_share": found.value, "symmetric_share_chance": found.chance}


_OF_PAIR: Mapping[str, Callable[[_Pair, _Taken], None]] = {
    "alignment": _alignment,
    "cka": _cka,
    "neighbours": _neighbours,
    "symmetry": _symmetry,
}
_KEY_OF = {"rank": "effective_rank", "symmetry": "symmetric_share"}
"""The key of a measure's figure, where it has another name."""


def _mean(values: Tensor) -> float:
    return float(values.mean())


def _bins(side: MeasuredSide, tokens: Mapping[str, Values]) -> list[schema.Bin]:
    """The means of figures over the tokens of each bin; none where it is not known how often tokens were seen."""
    counts = side.counts
    if counts is None:
        return []
    bins = torch.from_numpy(bins_of(counts.numpy())).long()
    return [
        schema.Bin(
            label=label,
            num_tokens=int((bins == place).sum()),
            means={key: _mean_in(bins, place, values) for key, values in tokens.items()},
        )
        for place, label in enumerate(BINS)
    ]


def _mean_in(bins: Tensor, place: int, values: Values) -> float | None:
    figures, places = values
    inside = figures[(bins if places is None else bins[places]) == place]
    return _mean(inside) if len(inside) else None
