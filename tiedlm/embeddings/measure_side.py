"""Every measure of one matrix."""

from collections.abc import Callable, Mapping
from functools import partial

from tiedlm.embeddings import schema
from tiedlm.embeddings.asked import WORD_PAIRS, Asked
from tiedlm.embeddings.frequency import frequency
from tiedlm.embeddings.isotropy import effective_rank, isotropy, normal_effective_rank, normal_isoscore
from tiedlm.embeddings.matrix import MatrixPair
from tiedlm.embeddings.movement import Movement, movement
from tiedlm.embeddings.neighbours import K, hubness
from tiedlm.embeddings.pair import UnknownStartError
from tiedlm.embeddings.sides import MeasuredSide
from tiedlm.embeddings.taken import Said, Taken, UnusableError, check_enough_for_neighbours, check_varies, mean
from tiedlm.embeddings.word_pairs import FEWEST, agreement

_FEWEST_SEEN = 4


def measure_side(side: MeasuredSide, asked: Asked, step: Said = lambda words: None) -> schema.MatrixMeasures:
    """The measures of one matrix; `step` hears of each."""
    taken = Taken()
    for name in asked.of_matrix():
        given = (side, taken, asked) if name == WORD_PAIRS else (side, taken)
        taken.take(name, partial(_MEASURES[name], *given), side.matrix.num_rows)
        step(name)
    if side.matrix.num_rows:
        taken.tokens["norm"] = (side.matrix.norms, None)
    return schema.MatrixMeasures(
        model=side.pair.name,
        side=side.side,
        num_tokens=side.matrix.num_rows,
        dim=side.matrix.dim,
        by_frequency=taken.bins(side) if asked.by_frequency else [],
        absent=taken.absent,
        **taken.fields,  # type: ignore[arg-type]
    )


def _isotropy(side: MeasuredSide, taken: Taken) -> None:
    check_varies(side)
    found, size = isotropy(side.matrix), (side.matrix.num_rows, side.matrix.dim)
    taken.fields["isotropy"] = schema.Isotropy(isoscore_normal=normal_isoscore(*size), **found._asdict())
    if found.isoscore is None:
        taken.absent["isotropy.isoscore"] = "rows of width 1 have one direction"


def _rank(side: MeasuredSide, taken: Taken) -> None:
    taken.fields["effective_rank"] = effective_rank(side.matrix)
    taken.fields["effective_rank_normal"] = normal_effective_rank(side.matrix.num_rows, side.matrix.dim)


def _frequency(side: MeasuredSide, taken: Taken) -> None:
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


def _hubness(side: MeasuredSide, taken: Taken) -> None:
    check_enough_for_neighbours(side)
    found = hubness(side.neighbours, side.matrix.num_rows)
    if found is None:
        raise UnusableError("each token is a neighbour equally often")
    taken.fields["hubness"] = schema.Hubs(k=K, num_queries=len(side.queries), **found._asdict())


def _distance(side: MeasuredSide, taken: Taken) -> None:
    try:
        moved = movement(MatrixPair(side.start, side.matrix))
    except UnknownStartError as error:
        raise UnusableError(str(error)) from None
    if bool(moved.distance.isnan().any()):
        raise UnusableError("rows started at 0, from where no distance is relative")
    taken.fields["distance"] = schema.Distance(relative=mean(moved.distance), cosine=mean(moved.cosine))
    taken.tokens |= {key: (getattr(moved, key), None) for key in Movement._fields}


def _word_pairs(side: MeasuredSide, taken: Taken, asked: Asked) -> None:
    check_varies(side)
    if side.names is None:
        raise UnusableError(f"the tokens have no names ({side.pair.absent['tokens']})")
    found = agreement(side.matrix, {name: place for place, name in enumerate(side.names)}, asked.word_pairs)
    taken.fields["word_pairs"] = schema.WordPairs(num_given=len(asked.word_pairs), **found._asdict())
    if found.spearman is None:
        few = f"both words of {found.num_pairs} of {len(asked.word_pairs)} pairs are one token"
        taken.absent["word_pairs.spearman"] = f"{few}: at least {FEWEST} that differ are needed"


_MEASURES: Mapping[str, Callable[..., None]] = {
    "isotropy": _isotropy,
    "rank": _rank,
    "frequency": _frequency,
    "neighbours": _hubness,
    "distance": _distance,
    WORD_PAIRS: _word_pairs,
}
