"""The figures of a comparison at full precision, one at a time, as a long table has them."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.split_summary import SeedScore, SplitSummary
from tiedlm.comparison.variant_summary import SeedRun, VariantSummary
from tiedlm.evaluation.absence import NOT_STORED

_SCORE_METRICS = (
    "nll",
    "tokens",
    "words",
    "bytes",
    "nats_per_token",
    "token_perplexity",
    "word_perplexity",
    "bits_per_byte",
)
_SEED_METRICS = ("nats_per_token_sd", "token_perplexity_sd", "unigram_perplexity", "documents", "seq_len", "stride")
_MEMORY_METRICS = (
    "gpu_peak_allocated_bytes",
    "gpu_peak_reserved_bytes",
    "predicted_peak_bytes",
    "host_peak_rss_bytes",
)


class Figure(NamedTuple):
    """One figure: a number, a word, or null with the reason.

    `seed` is None over all seeds, `split` empty where none was scored, `step` None except at points of a curve.
    """

    variant: str
    seed: int | None
    split: str
    metric: str
    value: float | str | None
    step: int | None = None
    reason: str | None = None


def figures_of_variant(comparison: Comparison, variant: VariantSummary) -> Iterator[Figure]:
    """The figures of a variant, of each of its runs and splits, and of its differences to the baseline."""
    yield from _of_variant(variant)
    for run in variant.runs:
        yield from _of_run(variant.name, run)
    for split, summary in variant.splits.items():
        yield from _of_split(variant.name, split, summary)
    for difference in comparison.differences:
        if difference.variant == variant.name:
            yield from figures_of_difference(difference)


def _of_variant(variant: VariantSummary) -> Iterator[Figure]:
    parameters = variant.parameters
    figures = {
        "tying": variant.tying,
        "parameters": parameters.total,
        "non_embedding_parameters": parameters.non_embedding,
        **{f"parameters.{part}": count for part, count in parameters.parts.items()},
        "flops_per_token": parameters.flops_per_token,
        **{peak: getattr(variant.memory, peak) for peak in _MEMORY_METRICS},
        "tokens_per_second": variant.tokens_per_second,
        "seconds": variant.seconds,
    }
    for metric, value in figures.items():
        yield _figure(variant.name, None, "", metric, value, variant.absent)


def _figure(
    variant: str, seed: int | None, split: str, metric: str, value: float | str | None, absent: Mapping[str, str]
) -> Figure:
    """A figure; of one that is null the reason, which stands under its key in `absent`."""
    reason = absent.get(metric, NOT_STORED) if value is None else None
    return Figure(variant, seed, split, metric, value, reason=reason)


def _of_run(variant: str, run: SeedRun) -> Iterator[Figure]:
    for metric in ("steps", "tokens_seen", "first_loss", "last_loss", "seconds"):
        yield Figure(variant, run.seed, "", metric, getattr(run, metric))
    for point in run.validation_curve:
        figures = {
            "validation_curve_tokens": point.tokens,
            "validation_curve_seconds": point.seconds,
            "validation_curve_nats_per_token": point.nats_per_token,
        }
        for metric, value in figures.items():
            yield Figure(variant, run.seed, "validation", metric, value, point.step)


def _of_split(variant: str, split: str, summary: SplitSummary) -> Iterator[Figure]:
    for metric in (*_SCORE_METRICS, *_SEED_METRICS):
        yield _figure(variant, None, split, metric, getattr(summary, metric), summary.absent)
    for score in summary.per_seed:
        yield from _of_score(variant, split, score)


def _of_score(variant: str, split: str, score: SeedScore) -> Iterator[Figure]:
    for metric in _SCORE_METRICS:
        yield _figure(variant, score.seed, split, metric, getattr(score, metric), score.absent)


def figures_of_difference(difference: Difference, verdict: str = "verdict") -> Iterator[Figure]:
    """A difference over seeds and of each seed; `verdict` is the metric under which its verdict stands."""
    no_interval = difference.absent.get("ci95_seeds")
    not_corrected = no_interval or "it is not corrected: no other comparison stands beside it"
    values = {
        "baseline": (difference.baseline, None),
        "difference": (difference.mean, difference.absent.get("mean")),
        **_ends("difference_ci95_seeds", difference.ci95_seeds, no_interval),
        **_ends("difference_ci95_corrected", difference.ci95_corrected, not_corrected),
        **_ends("difference_ci95_text", difference.ci95_text, difference.text_reason),
        "difference_p": (difference.p_difference, no_interval or "all seeds differ by exactly the same amount"),
        "difference_p_corrected_for": (difference.num_corrected_for, None),
        "pairing": (difference.pairing.level, None),
        verdict: (difference.verdict, None),
    }
    for metric, (value, reason) in values.items():
        why = (reason or NOT_STORED) if value is None else None
        yield Figure(difference.variant, None, difference.split, metric, value, reason=why)
    for seed, one in zip(difference.seeds, difference.per_seed, strict=False):
        yield Figure(difference.variant, seed, difference.split, "difference", one)


def _ends(
    metric: str, interval: tuple[float, float] | None, reason: str | None
) -> dict[str, tuple[float | None, str | None]]:
    """Both ends of an interval, each with the reason where there is none."""
    low, high = interval or (None, None)
    return {f"{metric}_low": (low, reason), f"{metric}_high": (high, reason)}
