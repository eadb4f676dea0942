"""Which matrix of the baseline is the one matrix of a variant like: its input or its output? Free of torch."""

from collections.abc import Iterator, Mapping, Sequence

from tiedlm.comparison.statistics import mean
from tiedlm.embeddings.family import judge_family
from tiedlm.embeddings.schema import Nearer, OverSeeds

METRICS = ("alignment.orthogonal.held_out", "alignment.linear.held_out", "cka", "neighbours.overlap")
"""Figures that are larger the more alike two matrices are."""


def nearer(over_seeds: Sequence[OverSeeds], variants: Sequence[str], baseline: str) -> Iterator[Nearer]:
    """For each of the variants with one matrix: likeness to the baseline's output minus likeness to its input.

    Paired by seed; the figures of a variant are one family for Holm's method.
    """
    found = {(each.variant, each.of, each.metric): each for each in over_seeds}
    for variant in variants:
        family = dict(_per_seed(found, variant, baseline))
        yield from _judged(variant, baseline, family)


def _per_seed(
    found: Mapping[tuple[str, str, str], OverSeeds], variant: str, baseline: str
) -> Iterator[tuple[str, dict[int, float]]]:
    for metric in METRICS:
        both = [found.get((variant, f"input ~ {baseline} {side}", metric)) for side in ("output", "input")]
        if both[0] is None or both[1] is None:
            continue
        mine, theirs = (dict(zip(one.seeds, one.per_seed, strict=True)) for one in both if one is not None)
        differences = {seed: mine[seed] - theirs[seed] for seed in mine if seed in theirs}
        if differences:
            yield metric, differences


def _judged(variant: str, baseline: str, family: Mapping[str, dict[int, float]]) -> Iterator[Nearer]:
    tested = judge_family({metric: [*by_seed.values()] for metric, by_seed in family.items()})
    for metric, by_seed in family.items():
        per_seed, test = [*by_seed.values()], tested.get(metric)
        middle = mean(per_seed)
        is_told = test is not None and test.is_told
        yield Nearer(
            variant=variant,
            baseline=baseline,
            metric=metric,
            mean=middle,
            ci95_corrected=test.interval if test else None,
            seeds=[*by_seed],
            per_seed=per_seed,
            p_difference=test.p if test else None,
            num_corrected_for=max(len(tested), 1),
            verdict="cannot_tell" if not is_told else "output" if middle > 0 else "input",
        )
