"""What one screen shows of a comparison: a few rows, and the sentences without which the verdict would mislead."""

from collections.abc import Iterator, Sequence

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.variant_summary import VariantSummary
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import one_difference_each, perplexity_cell, shown_variants, variant_row
from tiedlm.report.figures.context import ends
from tiedlm.report.figures.main_table import difference_row, memory_row, saving_row, speed_row, split_row, tuned_rows
from tiedlm.report.figures.pairs import differing_keys, pairing_in_words
from tiedlm.report.figures.table import Row, Table


def screen_table(comparison: Comparison) -> Table:
    """Parameters and what tying saves, perplexity, difference, memory and speed of each variant."""
    variants = shown_variants(comparison)
    return Table(tuple(variant.name for variant in variants), tuple(_rows(comparison, variants)))


def _rows(comparison: Comparison, variants: Sequence[VariantSummary]) -> Iterator[Row]:
    yield variant_row("parameters", variants, lambda variant: numbers.count(variant.parameters.total))
    if any(variant.against_baseline for variant in variants):
        yield saving_row(f"against {comparison.baseline}", variants, comparison.baseline, depth=1)
    yield from tuned_rows(comparison.tuning, variants)
    split = _deciding_split(variants)
    yield split_row(split, "perplexity", variants, perplexity_cell)
    by_variant = {found.variant: found for found in comparison.all_differences if found.split == split}
    if by_variant:
        yield difference_row(by_variant, split, variants, comparison.baseline)
    yield memory_row("peak GPU memory", "GPU peak", variants, "gpu_peak_allocated_bytes")
    yield memory_row("peak host memory", "host peak", variants, "host_peak_rss_bytes")
    yield speed_row(variants)


def _deciding_split(variants: Sequence[VariantSummary]) -> str:
    return "test" if any("test" in variant.splits for variant in variants) else "validation"


def screen_sentences(comparison: Comparison) -> Iterator[str]:
    """How to read the table, how equal start and batches were, in which keys the variants differ, and what failed."""
    yield from _how_to_read(comparison)
    pairs = one_difference_each(comparison)
    if len(pairs) == 1:
        yield f"{''.join(_pairings(pairs))}; they differ in: {differing_keys(comparison, pairs[0])}."
    elif pairs:
        yield from (f"{said}." for said in _pairings(pairs))
        keys = "; ".join(f"{pair.variant} in {differing_keys(comparison, pair)}" for pair in pairs)
        yield f"Against {comparison.baseline} differ: {keys}."
    yield from comparison.notes
    yield from ends(comparison)


def _how_to_read(comparison: Comparison) -> Iterator[str]:
    """Which sign favours whom, what the interval is, and what ± is."""
    differences = one_difference_each(comparison)
    is_spread = any(len(variant.seeds) > 1 for variant in comparison.variants)
    spread = "; ±: standard deviation over seeds" if is_spread else ""
    if not differences:
        return
    variant, baseline = (
        differences[0].variant if len(differences) == 1 else "the variant",
        comparison.baseline,
    )
    has_interval = any(difference.interval for difference in differences)
    interval = " [95 % interval over seeds]" if has_interval else ""
    corrected = [difference.variant for difference in differences if difference.ci95_corrected]
    which = f", Holm-corrected for {', '.join(corrected)}" if corrected else ""
    older = [pair.variant for pair in differences if pair.num_corrected_for > 1 and not pair.ci95_corrected]
    which += f", not corrected as the verdicts of {', '.join(older)} are" if older else ""
    yield (
        f"difference{interval}{which}: nats per token, below 0 favours {variant}, above 0 favours {baseline}{spread}."
    )


def _pairings(pairs: Sequence[Difference]) -> Iterator[str]:
    """Once for all variants of which the same is true, without a full stop."""
    variants_of: dict[tuple[str, str], list[str]] = {}
    for difference in pairs:
        pairing = difference.pairing
        in_the_verdict = pairing.level == "none" and difference.split == "test"
        reasons = "" if pairing.level == "start+batches" or in_the_verdict else "; ".join(pairing.reasons)
        variants_of.setdefault((pairing.level, reasons), []).append(difference.variant)
    for (level, reasons), variants in variants_of.items():
        said = pairing_in_words(level, ", ".join(variants), pairs[0].baseline)
        yield f"{said} ({reasons})" if reasons else said
