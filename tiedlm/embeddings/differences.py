"""Figures of each variant against the baseline's, paired by seed as perplexity is. Free of torch."""

from collections.abc import Iterator, Mapping, Sequence

from tiedlm.comparison.pairing import Pairing, pair_by_seed, pair_seeds
from tiedlm.comparison.statistics import paired_difference
from tiedlm.embeddings.family import Tested, judge_family
from tiedlm.embeddings.schema import Direction, MeasureDifference
from tiedlm.embeddings.seed_figures import Figure, Place
from tiedlm.evaluation.absence import ONE_SEED
from tiedlm.run.result import RunResult

Figures = Mapping[Place, Mapping[int, Figure]]


def differences(
    figures: Figures, results: Mapping[str, Sequence[RunResult]], baseline: str
) -> Iterator[MeasureDifference]:
    """Of each figure that a variant and the baseline both have; those of one variant are a family for Holm's method."""
    for variant in (name for name in results if name != baseline):
        pairing = pair_seeds(pair_by_seed(results[variant], results[baseline]))
        measured = dict(_of_variant(figures, variant, baseline, pairing))
        is_paired = pairing.level != "none"
        tested = judge_family({place: each.per_seed for place, each in measured.items()}) if is_paired else {}
        for place, each in measured.items():
            yield _judged(each, tested.get(place))


def _of_variant(
    figures: Figures, variant: str, baseline: str, pairing: Pairing
) -> Iterator[tuple[Place, MeasureDifference]]:
    """As measured, not yet judged."""
    for place, by_seed in figures.items():
        theirs = figures.get(place._replace(variant=baseline), {})
        seeds = [seed for seed in by_seed if seed in theirs]
        if place.variant != variant or not seeds:
            continue
        found = paired_difference([by_seed[seed].value for seed in seeds], [theirs[seed].value for seed in seeds])
        reason = _why_no_interval(pairing, len(seeds))
        yield (
            place,
            MeasureDifference(
                **place._asdict(),
                baseline=baseline,
                mean=found.mean,
                ci95_seeds=None if reason else found.interval,
                seeds=seeds,
                per_seed=list(found.differences),
                pairing=pairing.level,
                reason=reason,
            ),
        )


def _why_no_interval(pairing: Pairing, num_seeds: int) -> str | None:
    if pairing.level == "none":
        return f"the runs are not pairs ({'; '.join(pairing.reasons)})"
    return ONE_SEED if num_seeds == 1 else None


def _judged(difference: MeasureDifference, tested: Tested | None) -> MeasureDifference:
    is_equal = difference.pairing != "none" and not any(difference.per_seed)
    verdict: Direction = "no_difference" if is_equal else "cannot_tell"
    if tested is None:
        return difference.model_copy(update={"verdict": verdict})
    if tested.is_told:
        verdict = "higher" if difference.mean > 0 else "lower"
    return difference.model_copy(
        update={
            "verdict": verdict,
            "p_difference": tested.p,
            "ci95_corrected": tested.interval,
            "num_corrected_for": tested.num_corrected_for,
        }
    )
