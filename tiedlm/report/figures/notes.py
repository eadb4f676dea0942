"""Notes on the figures: how to read the main table, and why a figure or an interval is missing."""

from collections.abc import Iterator

from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures.cells import one_difference_each
from tiedlm.report.figures.detail_tables import device_notes
from tiedlm.report.figures.text_overlap import overlap_notes


def how_to_read(comparison: Comparison) -> Iterator[str]:
    """The notes below the main table: what its figures mean and how the verdict is decided."""
    differences = comparison.differences
    if differences:
        baseline = comparison.baseline
        has_interval = any(difference.ci95_seeds for difference in differences)
        interval = " [low, high]: 95 % t-interval over seeds, paired." if has_interval else ""
        yield (
            f"difference: variant minus {baseline}, nats per token; below 0 favours the variant, above 0 favours "
            f"{baseline}.{interval}"
        )
    if any(difference.split == "test" and difference.ci95_text for difference in differences):
        yield "over documents: 95 % cluster bootstrap of the text; these checkpoints alone, not other seeds."
    yield from _how_decided(comparison)
    is_spread = any(len(variant.seeds) > 1 for variant in comparison.variants)
    spread = "; ±: sample standard deviation over seeds" if is_spread else ""
    yield f"perplexity: per token, exp(nll / tokens) with both summed over seeds{spread}."


def _how_decided(comparison: Comparison) -> Iterator[str]:
    """The rule of the verdicts and their correction; nothing where there is no verdict."""
    differences = comparison.differences
    if any(difference.p_difference is not None for difference in differences):
        size = f"{comparison.smallest_worthwhile:g}"
        rule = f"better, worse: the 95 % interval excludes 0; equal: the 90 % interval lies within ±{size}."
        power = " seeds that would tell: at 80 % power, with the uncertainty of the spread."
        yield rule + (power if any(difference.seeds_needed for difference in differences) else "")
    corrected = [
        difference.variant for difference in one_difference_each(comparison) if difference.num_corrected_for > 1
    ]
    if corrected:
        yield f"Holm-corrected: the verdicts on {', '.join(corrected)}; the intervals shown are not."


def detail_notes(comparison: Comparison) -> Iterator[str]:
    """What is missing and why, held-out text in train, in which config keys the variants differ, and the device."""
    yield from missing_figures(comparison)
    yield from overlap_notes(comparison)
    yield from _missing_intervals(comparison)
    yield from _config_differences(comparison)
    yield from device_notes(comparison)


def missing_figures(comparison: Comparison) -> Iterator[str]:
    """Why a figure per word or per byte is missing; each reason once a split."""
    said: set[str] = set()
    for variant in comparison.variants:
        for split, summary in variant.splits.items():
            if split == "train":  # a part of it is scored, which says enough
                continue
            for what, reason in (("word perplexity", summary.words_reason), ("bits per byte", summary.bytes_reason)):
                line = f"{split}, {what}: none, {reason}."
                if reason and line not in said:
                    said.add(line)
                    yield line


def _missing_intervals(comparison: Comparison) -> Iterator[str]:
    """Why an interval over documents is missing."""
    for found in comparison.differences:
        if found.text_reason:
            yield f"{found.split}, {found.variant} over documents: none, {found.text_reason}."


def _config_differences(comparison: Comparison) -> Iterator[str]:
    """The config keys in which each variant differs from the baseline."""
    for difference in one_difference_each(comparison):
        keys = ", ".join(difference.config_differences) or "nothing"
        yield f"{difference.variant} is configured otherwise than {difference.baseline} in: {keys}."
