"""A comparison as one long table: a line for each figure, at full precision."""

import csv
import io
from collections.abc import Iterator
from typing import NamedTuple

from tiedlm.comparison.analyses.budget import Budget
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.summary import SeedRun, SeedScore, SplitSummary, VariantSummary

_OF_A_SCORE = (
    "nll",
    "tokens",
    "words",
    "bytes",
    "nats_per_token",
    "token_perplexity",
    "word_perplexity",
    "bits_per_byte",
)
_OVER_SEEDS = ("nats_per_token_sd", "token_perplexity_sd", "unigram_perplexity", "documents", "seq_len", "stride")
_PEAKS = (
    "gpu_peak_allocated_bytes",
    "gpu_peak_reserved_bytes",
    "predicted_peak_bytes",
    "host_peak_rss_bytes",
)


class Figure(NamedTuple):
    """`seed` is None over all seeds, `split` empty where none was scored, `step` None but for points of a curve."""

    variant: str
    seed: int | None
    split: str
    metric: str
    value: float | str | None
    step: int | None = None


def comparison_csv(comparison: Comparison) -> str:
    """CSV with a header, comma-separated; what is not known has no line."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(Figure._fields)
    writer.writerows(figure for figure in figures(comparison) if figure.value is not None)
    return written.getvalue()


def figures(comparison: Comparison) -> Iterator[Figure]:
    """The figures of each variant, of each of its runs, and of its differences to the baseline."""
    for variant in comparison.variants:
        yield from _of_variant(variant)
        for run in variant.runs:
            yield from _of_run(variant.name, run)
        for split, summary in variant.splits.items():
            yield from _of_split(variant.name, split, summary)
        for difference in comparison.differences:
            if difference.variant == variant.name:
                yield from _of_difference(difference)
        if budget := comparison.analysis(Budget):
            yield from _at_equal_parameters(variant.name, budget)


def _of_variant(variant: VariantSummary) -> Iterator[Figure]:
    parameters = variant.parameters
    of_all = {
        "tying": variant.tying,
        "parameters": parameters.total,
        "non_embedding_parameters": parameters.non_embedding,
        **{f"parameters.{part}": count for part, count in parameters.parts.items()},
        "flops_per_token": parameters.flops_per_token,
        **{peak: getattr(variant.memory, peak) for peak in _PEAKS},
        "tokens_per_second": variant.tokens_per_second,
        "seconds": variant.seconds,
    }
    for metric, value in of_all.items():
        yield Figure(variant.name, None, "", metric, value)


def _of_run(variant: str, run: SeedRun) -> Iterator[Figure]:
    for metric in ("steps", "tokens_seen", "first_loss", "last_loss", "seconds"):
        yield Figure(variant, run.seed, "", metric, getattr(run, metric))
    for point in run.validation_curve:
        of_point = {
            "validation_curve_tokens": point.tokens,
            "validation_curve_seconds": point.seconds,
            "validation_curve_nats_per_token": point.nats_per_token,
        }
        for metric, value in of_point.items():
            yield Figure(variant, run.seed, "validation", metric, value, point.step)


def _of_split(variant: str, split: str, summary: SplitSummary) -> Iterator[Figure]:
    for metric in (*_OF_A_SCORE, *_OVER_SEEDS):
        yield Figure(variant, None, split, metric, getattr(summary, metric))
    for score in summary.per_seed:
        yield from _of_score(variant, split, score)


def _of_score(variant: str, split: str, score: SeedScore) -> Iterator[Figure]:
    for metric in _OF_A_SCORE:
        yield Figure(variant, score.seed, split, metric, getattr(score, metric))


def _at_equal_parameters(variant: str, budget: Budget) -> Iterator[Figure]:
    """What is concluded of a variant; of a body of the baseline's size its difference, which alone is no verdict."""
    for each in budget.equal_parameters:
        if each.variant == variant:
            yield Figure(variant, None, each.split, "verdict_at_equal_parameters", each.verdict)
            yield Figure(variant, None, each.split, "p_difference_at_equal_parameters", each.p_difference)
        for difference in (found for body in each.bodies if body.variant == variant for found in body.differences):
            yield from _of_difference(difference, "verdict_by_itself")


def _of_difference(difference: Difference, verdict: str = "verdict") -> Iterator[Figure]:
    low, high = difference.ci95_seeds or (None, None)
    low_text, high_text = difference.ci95_text or (None, None)
    over_seeds = {
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
    for metric, value in over_seeds.items():
        yield Figure(difference.variant, None, difference.split, metric, value)
    for seed, one in zip(difference.seeds, difference.per_seed, strict=False):
        yield Figure(difference.variant, seed, difference.split, "difference", one)
