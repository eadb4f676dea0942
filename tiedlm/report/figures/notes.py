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
    differing = one_difference_each(comparison)
    corrected = [difference for difference in differing if difference.num_corrected_for > 1]
    if corrected:
        names = ", ".join(difference.variant for difference in corrected)
        with_them = all(difference.ci95_corrected for difference in corrected)
        which = "the verdicts and intervals" if with_them else "the verdicts, not the intervals,"
        yield f"Holm-corrected: {which} of {names}."


def detail_notes(comparison: Comparison) -> Iterator[str]:
    """Held-out text in train, and the device; why a figure is absent stands below each table."""
    yield from overlap_notes(comparison)
    yield from device_notes(comparison)
