"""Every measure of two matrices with the same tokens."""

from collections.abc import Callable, Mapping
from functools import partial

from tiedlm.embeddings import schema
from tiedlm.embeddings.alignment import Fit, identity, linear, orthogonal
from tiedlm.embeddings.asked import Asked
from tiedlm.embeddings.matrix import MatrixPair
from tiedlm.embeddings.neighbours import K, overlap_chance, overlaps
from tiedlm.embeddings.sides import MeasuredSide
from tiedlm.embeddings.similarity import linear_cka, symmetric_share
from tiedlm.embeddings.taken import Said, Taken, UnusableError, check_enough_for_neighbours, check_varies, mean


def measure_pair(
    one: MeasuredSide, other: MeasuredSide, asked: Asked, step: Said = lambda words: None
) -> schema.PairMeasures:
    """The measures of two matrices with the same tokens; `step` hears of each."""
    pair, taken = _Pair(one, other), Taken()
    for name in asked.of_pair():
        taken.take(name, partial(_MEASURES[name], pair, taken), one.matrix.num_rows)
        step(name)
    return schema.PairMeasures(
        a=one.name,
        b=other.name,
        num_tokens=one.matrix.num_rows,
        by_frequency=taken.bins(one) if asked.by_frequency else [],
        absent=taken.absent,
        **taken.fields,  # type: ignore[arg-type]
    )


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
            check_varies(side)


def _alignment(pair: _Pair, taken: Taken) -> None:
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


def _cka(pair: _Pair, taken: Taken) -> None:
    pair.check_varies()
    found = linear_cka(pair.matrices)
    taken.fields |= {"cka": found.value, "cka_chance": found.chance}


def _neighbours(pair: _Pair, taken: Taken) -> None:
    check_enough_for_neighbours(pair.one)
    shares, num_rows = overlaps(pair.one.neighbours, pair.other.neighbours), pair.one.matrix.num_rows
    taken.fields["neighbours"] = schema.Neighbours(
        overlap=mean(shares), chance=overlap_chance(num_rows), k=K, num_queries=len(shares)
    )
    taken.tokens["overlap"] = (shares, pair.one.queries)


def _symmetry(pair: _Pair, taken: Taken) -> None:
    if not pair.is_path:
        raise UnusableError("only the input and the output of one model have a direct path between them")
    if not pair.has_one_width:
        raise UnusableError(pair.widths)
    found = symmetric_share(pair.matrices)
    if found is None:
        raise UnusableError("no row of one has anything in common with a row of the other: the direct path is 0")
    taken.fields |= {"symmetric_share": found.value, "symmetric_share_chance": found.chance}


_MEASURES: Mapping[str, Callable[[_Pair, Taken], None]] = {
    "alignment": _alignment,
    "cka": _cka,
    "neighbours": _neighbours,
    "symmetry": _symmetry,
}
