"""The figures of a comparison at full precision, one at a time, as a long table has them."""

from collections.abc import Iterator
from typing import NamedTuple

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.split_summary import SeedScore, SplitSummary
from tiedlm.comparison.variant_summary import SeedRun, VariantSummary

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
    """One line of the long table.

    `seed` is None over all seeds, `split` empty where none was scored, `step` None except at points of a curve.
    """

    variant: str
    seed: int | None
    split: str
    metric: str
    value: float | str | None
    step: int | None = None


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
        yield Figure(variant.name, None, "", metric, value)


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
        yield Figure(variant, None, split, metric, getattr(summary, metric))
    for score in summary.per_seed:
        yield from _of_score(variant, split, score)


def _of_score(variant: str, split: str, score: SeedScore) -> Iterator[Figure]:
    for metric in _SCORE_METRICS:
        yield Figure(variant, score.seed, split, metric, getattr(score, metric))


def figures_of_difference(difference: Difference, verdict: str = "verdict") -> Iterator[Figure]:
    """A difference over seeds and of each seed; `verdict` is the metric under which its verdict stands."""
    low, high = difference.ci95_seeds or (None, None)
    low_text, high_text = difference.ci95_text or (None, None)
    figures = {
        "baseline": difference.baseline,
        "difference": difference.mean,
        "difference_ci95_seeds_low": low,
        "difference_ci95_seeds_high": high,
        "difference_ci95_text_low": low_text,
        "difference_ci95_text_high": high_text,
        "difference_p": difference.p_difference,
        "difference_p_corrected_for": difference.num_corrected_for if difference.p_difference is not None else None,
        "pairing": difference.pairing.level,
        verdict: difference.verdict,
    }
    for metric, value in figures.items():
        yield Figure(difference.variant, None, difference.split, metric, value)
    for seed, one in zip(difference.seeds, difference.per_seed, strict=False):
        yield Figure(difference.variant, seed, difference.split, "difference", one)
