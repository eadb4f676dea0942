"""Every figure of the matrices of some runs, by variant and seed. Free of torch."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tiedlm.comparison.statistics import mean, sample_sd, t_interval
from tiedlm.embeddings.metrics import OF_MATRIX, OF_PAIR, Metric, chance_of, value_of
from tiedlm.embeddings.schema import MatrixMeasures, OverSeeds, PairMeasures


class Place(NamedTuple):
    """A figure of a variant: of which matrix or pair of matrices, and its dotted key."""

    variant: str
    of: str
    metric: str


class Figure(NamedTuple):
    value: float
    chance: float | None


def figures(
    matrices: Sequence[MatrixMeasures], pairs: Sequence[PairMeasures], variants: Mapping[str, str]
) -> Iterator[tuple[Place, Figure]]:
    for matrix in matrices:
        yield from _figures_of(variants[matrix.model], matrix.side, matrix, OF_MATRIX)
    for pair in pairs:
        whose = "" if pair.a.model == pair.b.model else f"{variants[pair.b.model]} "
        yield from _figures_of(variants[pair.a.model], f"{pair.a.side} ~ {whose}{pair.b.side}", pair, OF_PAIR)


def _figures_of(
    variant: str, of: str, measured: MatrixMeasures | PairMeasures, metrics: Sequence[Metric]
) -> Iterator[tuple[Place, Figure]]:
    for metric in metrics:
        value = value_of(measured, metric.key)
        if value is not None:
            yield Place(variant, of, metric.key), Figure(value, chance_of(measured, metric))


def over_seeds(place: Place, by_seed: Mapping[int, Figure]) -> OverSeeds:
    values = [figure.value for figure in by_seed.values()]
    chances = [figure.chance for figure in by_seed.values() if figure.chance is not None]
    return OverSeeds(
        **place._asdict(),
        mean=mean(values),
        sd=sample_sd(values),
        ci95_seeds=t_interval(values),
        chance=mean(chances) if chances else None,
        seeds=list(by_seed),
        per_seed=values,
    )
