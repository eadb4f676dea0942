"""The figures of an analysis that are set beside their value for independent matrices. Free of torch."""

from typing import Any, NamedTuple

from tiedlm.embeddings.schema import MatrixMeasures, PairMeasures


class Metric(NamedTuple):
    """One figure by its dotted key; `chance` is its value for independent matrices, a key or a number."""

    key: str
    label: str
    chance: str | float | None


OF_MATRIX = (
    Metric("isotropy.isoscore", "IsoScore", "isotropy.isoscore_normal"),
    Metric("isotropy.mean_cosine", "mean cosine", 0.0),
    Metric("isotropy.partition", "partition isotropy", 1.0),
    Metric("effective_rank", "effective rank", "effective_rank_normal"),
    Metric("frequency.spearman", "length and ln count", 0.0),
    Metric("frequency.r2", "ln count from rows, R2", 0.0),
    Metric("frequency.direction", "share in one direction", None),
    Metric("hubness.skewness", "hubness, skewness", "hubness.chance"),
    Metric("distance.relative", "distance from start", None),
    Metric("distance.cosine", "cosine with start", None),
    Metric("word_pairs.spearman", "agreement on word pairs", 0.0),
)
OF_PAIR = (
    Metric("alignment.identity.held_out", "cosine, as they are", 0.0),
    Metric("alignment.orthogonal.held_out", "cosine, turned", 0.0),
    Metric("alignment.linear.held_out", "cosine, linear map", 0.0),
    Metric("cka", "linear CKA", "cka_chance"),
    Metric("neighbours.overlap", "neighbours in common", "neighbours.chance"),
    Metric("symmetric_share", "symmetric share", "symmetric_share_chance"),
)


def value_of(measured: MatrixMeasures | PairMeasures, key: str) -> float | None:
    """The figure under a dotted key; None where it, or what holds it, is null."""
    found: Any = measured
    for name in key.split("."):
        found = getattr(found, name, None)
    return found if isinstance(found, float) else None


def chance_of(measured: MatrixMeasures | PairMeasures, metric: Metric) -> float | None:
    """Its value for independent matrices of that size; None where none is known."""
    return value_of(measured, metric.chance) if isinstance(metric.chance, str) else metric.chance


def metric_named(key: str) -> Metric:
    """The metric with a dotted key."""
    return next(metric for metric in (*OF_MATRIX, *OF_PAIR) if metric.key == key)


def names_pair(of: str) -> bool:
    """Whether what a figure is of is a pair of matrices and not one."""
    return " ~ " in of
