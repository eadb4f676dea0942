"""Tables of an analysis of embeddings: measures of matrices, of pairs of them, by frequency, and over seeds."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tiedlm.embeddings.metrics import OF_MATRIX, OF_PAIR, Metric, chance_of, value_of
from tiedlm.embeddings.schema import (
    Alignment,
    Bin,
    EmbeddingAnalysis,
    MatrixMeasures,
    Nearest,
    PairMeasures,
    SideOf,
)
from tiedlm.evaluation.absence import NOT_STORED
from tiedlm.report.figures import numbers
from tiedlm.report.figures.table import NOTHING, Absence, Row, Shown, Table

LETTERS = "AB"
BY_CHANCE = "by chance"
_DECIMALS = {"effective_rank": 1}


def matrix_table(analysis: EmbeddingAnalysis) -> Table:
    """Each matrix a column; a model's one matrix is one column. Below each figure its value for normal entries."""
    found = _without_copies(analysis)
    names = [_side(analysis, SideOf(model=each.model, side=each.side)) for each in found]
    rows = [
        Row.of("tokens", (numbers.count(each.num_tokens) for each in found)),
        Row.of("width", (numbers.count(each.dim) for each in found)),
        *_rows(OF_MATRIX, found),
    ]
    return Table(tuple(names), tuple(rows), title="Each matrix")


def _without_copies(analysis: EmbeddingAnalysis) -> list[MatrixMeasures]:
    one = {model.name for model in analysis.models if model.one_matrix}
    return [each for each in analysis.matrices if each.side == "input" or each.model not in one]


def pair_table(analysis: EmbeddingAnalysis) -> Table | None:
    """Each pair of matrices a column; None where there is no pair, or nothing was measured of one."""
    pairs = analysis.pairs
    names = [f"{_side(analysis, pair.a)} ~ {_side(analysis, pair.b)}" for pair in pairs]
    rows: list[Row] = []
    for row, metric in zip(_each_row(OF_PAIR, pairs), OF_PAIR, strict=True):
        rows += row
        if row and metric.key.startswith("alignment."):
            rows += _fit_rows(metric.key.split(".")[1], pairs)
    return Table(tuple(names), tuple(rows), title="Pairs of matrices, token by token") if rows else None


def _fit_rows(kind: str, pairs: Sequence[PairMeasures]) -> Iterator[Row]:
    """The range over tokens, and what a fit reaches on the tokens that it was made from, with its floor."""
    fits: list[Alignment | None] = [getattr(pair.alignment, kind, None) for pair in pairs]
    yield Row.of("5 to 95 % of tokens", (_of_fit(fit, "range") for fit in fits), depth=1)
    if kind != "identity":
        yield Row.of("in-sample", (_of_fit(fit, "in_sample") for fit in fits), depth=1)
        yield Row.of("in-sample, by chance", (_of_fit(fit, "floor") for fit in fits), depth=1)


def _of_fit(fit: Alignment | None, what: str) -> str:
    if fit is None:
        return NOTHING
    if what == "range":
        low, high = fit.held_out_range
        return f"{low:.2f} to {high:.2f}"
    return f"{getattr(fit, what):.3f}"


def _rows(metrics: Sequence[Metric], found: Sequence[MatrixMeasures | PairMeasures]) -> list[Row]:
    return [row for rows in _each_row(metrics, found) for row in rows]


def _each_row(metrics: Sequence[Metric], found: Sequence[MatrixMeasures | PairMeasures]) -> Iterator[list[Row]]:
    """For each metric its row, and one of its values by chance; none where nobody asked for it."""
    for metric in metrics:
        values = [value_of(each, metric.key) for each in found]
        reasons = [_reason(each.absent, metric.key) for each in found]
        if not any(value is not None or reason for value, reason in zip(values, reasons, strict=True)):
            yield []
            continue
        cells = [_cell(metric.key, value, reason) for value, reason in zip(values, reasons, strict=True)]
        rows = [Row.of(metric.label, cells)]
        chances = [chance_of(each, metric) for each in found]
        if any(chance is not None and value is not None for chance, value in zip(chances, values, strict=True)):
            shown = (
                NOTHING if value is None else plain(metric.key, c) for c, value in zip(chances, values, strict=True)
            )
            rows.append(Row.of(BY_CHANCE, shown, depth=1))
        yield rows


def _reason(absent: Mapping[str, str], key: str) -> str | None:
    """The reason that stands under the key, or under one that holds it."""
    parts = key.split(".")
    prefixes = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
    return next((absent[prefix] for prefix in prefixes if prefix in absent), None)


def _cell(key: str, value: float | None, reason: str | None) -> Shown:
    return Absence(reason or NOT_STORED) if value is None else plain(key, value)


def decimals_of(key: str) -> int:
    """How many decimals a figure is shown with."""
    return _DECIMALS.get(key, 3)


def plain(key: str, value: float | None) -> str:
    """A figure by its dotted key; one that would round to 0 without being 0 has one digit."""
    if value is None:
        return NOTHING
    decimals = decimals_of(key)
    rounded = round(value, decimals)
    return f"{rounded + 0.0:,.{decimals}f}" if rounded else ("0" if value == 0 else f"{value:.1g}")


def bin_tables(analysis: EmbeddingAnalysis) -> Iterator[Table]:
    """By how often tokens were seen: a table for each matrix and each pair that was broken down."""
    for matrix in _without_copies(analysis):
        if matrix.by_frequency:
            side = _side(analysis, SideOf(model=matrix.model, side=matrix.side))
            yield _bin_table(f"{side} by how often tokens were seen", matrix.by_frequency)
    for pair in analysis.pairs:
        if pair.by_frequency:
            title = f"{_side(analysis, pair.a)} ~ {_side(analysis, pair.b)} by how often tokens were seen"
            yield _bin_table(title, pair.by_frequency)


_BIN_LABELS = {
    "norm": "length",
    "distance": "distance from start",
    "cosine": "cosine with start",
    "identity": "cosine",
    "orthogonal": "turned",
    "linear": "linear map",
    "overlap": "neighbours in common",
}


def _bin_table(title: str, bins: Sequence[Bin]) -> Table:
    kept = [each for each in bins if each.num_tokens]
    rows = [
        Row.of("tokens", (numbers.count(each.num_tokens) for each in kept)),
        *(Row.of(_BIN_LABELS[key], (plain(key, each.means[key]) for each in kept)) for key in bins[0].means),
    ]
    return Table(tuple(each.label for each in kept), tuple(rows), names_as="lines", title=title)


def nearest_tables(analysis: EmbeddingAnalysis) -> Iterator[Table]:
    """For each chosen token its neighbours, each matrix a column, the nearest first."""
    by_token: dict[str, list[Nearest]] = {}
    for each in analysis.nearest:
        by_token.setdefault(each.token, []).append(each)
    for token, found in by_token.items():
        names = tuple(_side(analysis, SideOf(model=each.model, side=each.side)) for each in found)
        longest = max(len(each.neighbours) for each in found)
        rows = (Row.of(str(rank + 1), (_neighbour(each, rank) for each in found)) for rank in range(longest))
        yield Table(names, tuple(rows), title=f"Nearest to {token!r}")


def _neighbour(nearest: Nearest, rank: int) -> str:
    if rank >= len(nearest.neighbours):
        return NOTHING
    near = nearest.neighbours[rank]
    return f"{near.token} {near.cosine:.2f}"


def legend(analysis: EmbeddingAnalysis) -> Iterable[str]:
    """What was opened; with letters where there are two models."""
    for place, model in enumerate(analysis.models):
        name = model.path if len(analysis.models) == 1 else f"{LETTERS[place]}: {model.path}"
        widths = dict.fromkeys((model.input_dim, model.output_dim))
        size = f"{model.vocab_size:,} tokens, width {' and '.join(f'{width:,}' for width in widths)}"
        yield f"{name} ({model.tying}, step {model.step:,}; {size})" if model.step is not None else f"{name} ({size})"


def _side(analysis: EmbeddingAnalysis, side: SideOf) -> str:
    """ "input", "A output", or "A" where A has one matrix."""
    names = [model.name for model in analysis.models]
    model = analysis.models[names.index(side.model)]
    letter = LETTERS[names.index(side.model)] if len(names) == 2 else ""
    one = "" if letter else "input = output"
    return " ".join(filter(None, [letter, one if model.one_matrix else side.side]))
