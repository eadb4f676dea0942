"""Tables of the embeddings of an experiment: every figure over seeds, and differences with their intervals."""

from collections.abc import Iterator, Mapping, Sequence

from tiedlm.embeddings.metrics import metric_named, names_pair
from tiedlm.embeddings.schema import EmbeddingAnalysis, MeasureDifference, Nearer, OverSeeds
from tiedlm.evaluation.absence import NOT_STORED, ONE_SEED
from tiedlm.report.figures import numbers
from tiedlm.report.figures.embedding_tables import BY_CHANCE, decimals_of, plain
from tiedlm.report.figures.table import NOTHING, Absence, Row, Shown, Table


def seed_tables(analysis: EmbeddingAnalysis) -> Iterator[Table]:
    """For each matrix, and each pair, every figure of every variant over its seeds, beside its value by chance."""
    for of in dict.fromkeys(each.of for each in analysis.over_seeds):
        found = {(each.variant, each.metric): each for each in analysis.over_seeds if each.of == of}
        variants = list(dict.fromkeys(variant for variant, _ in found))
        rows = (_seed_row(metric, variants, found) for metric in dict.fromkeys(metric for _, metric in found))
        yield Table((*variants, BY_CHANCE), tuple(rows), title=_title(of))


def _title(of: str) -> str:
    return f"{of}, token by token" if names_pair(of) else f"The {of} embedding"


def _seed_row(metric: str, variants: Sequence[str], found: Mapping[tuple[str, str], OverSeeds]) -> Row:
    each = [found.get((variant, metric)) for variant in variants]
    cells = [NOTHING if one is None else _spread(one) for one in each]
    chance = next((one.chance for one in each if one is not None), None)
    return Row.of(metric_named(metric).label, [*cells, plain(metric, chance)])


def _spread(over: OverSeeds) -> str:
    if over.sd is None:
        return plain(over.metric, over.mean)
    return numbers.spread(over.mean, over.sd, decimals_of(over.metric))


def difference_tables(analysis: EmbeddingAnalysis) -> Iterator[Table]:
    """Each variant against the baseline: difference with its interval, and what it comes to."""
    for variant in dict.fromkeys(each.variant for each in analysis.differences):
        found = [each for each in analysis.differences if each.variant == variant]
        names = tuple(f"{each.of}: {metric_named(each.metric).label}" for each in found)
        rows = (
            Row.of("difference", map(_difference, found)),
            Row.of("verdict", (each.verdict.replace("_", " ") for each in found)),
        )
        yield Table(names, rows, names_as="lines", title=f"{variant} minus {analysis.baseline}, paired by seed")


def _difference(difference: MeasureDifference) -> Shown:
    shown = numbers.with_interval(difference.mean, difference.interval)
    if difference.interval is None:
        return Absence(difference.reason or NOT_STORED, shown, "no interval")
    return shown


def nearer_tables(analysis: EmbeddingAnalysis) -> Iterator[Table]:
    """For each variant with one matrix: which of the baseline's two it is more like."""
    for variant in dict.fromkeys(each.variant for each in analysis.nearer):
        found = [each for each in analysis.nearer if each.variant == variant]
        rows = (
            Row.of("output minus input", map(_nearer, found)),
            Row.of("more like its", (each.verdict.replace("_", " ") for each in found)),
        )
        title = f"The one matrix of {variant} beside the output and the input of {analysis.baseline}"
        names = tuple(metric_named(each.metric).label for each in found)
        yield Table(names, tuple(rows), names_as="lines", title=title)


def _nearer(nearer: Nearer) -> Shown:
    shown = numbers.with_interval(nearer.mean, nearer.ci95_corrected)
    return shown if nearer.ci95_corrected else Absence(ONE_SEED, shown, "no interval")
