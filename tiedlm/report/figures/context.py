"""Sentences on what the figures rest on: the text, whether runs are paired, what failed, what is not finished."""

from collections.abc import Iterator

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.split_summary import SplitSummary
from tiedlm.comparison.variant_summary import VariantSummary
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import one_difference_each
from tiedlm.report.figures.pairs import differing_keys, pairing_in_words
from tiedlm.report.figures.savings import savings_of_variants
from tiedlm.report.figures.text_overlap import overlap_warnings


def warnings(comparison: Comparison) -> Iterator[str]:
    """What a reader must know before any figure: held-out text that was trained on, models that learned too little."""
    yield from overlap_warnings(comparison)
    pairs = [(split.token_perplexity, split.unigram_perplexity) for split in map(_test, comparison.variants) if split]
    if pairs and all(ours and unigram and ours >= unigram for ours, unigram in pairs):
        yield "No variant does better than token frequencies alone: trained too little for a difference to mean much."


def context(comparison: Comparison) -> Iterator[str]:
    """One sentence each: text, unigram perplexity, savings, pairing, notes, missing runs."""
    if comparison.corpus:
        yield f"Text: {comparison.corpus.caption}; {comparison.corpus.tokenizer}{_scored(comparison)}."
    yield from _unigram(comparison)
    yield from savings_of_variants(comparison)
    yield from _pairings(comparison)
    yield from comparison.notes
    yield from ends(comparison)


def ends(comparison: Comparison) -> Iterator[str]:
    """Which runs failed, and how many are still to come."""
    for failure in comparison.failures:
        at = "" if failure.step is None else f" at step {failure.step:,}"
        yield f"Failed: {failure.variant}, seed {failure.seed} ({failure.kind}{at}): {failure.message}"
    if comparison.pending:
        count = len(comparison.pending)
        yield f"Not finished yet: {count} planned run{'s' if count > 1 else ''}."


def _test(variant: VariantSummary) -> SplitSummary | None:
    return variant.splits.get("test")


def _scored(comparison: Comparison) -> str:
    for variant in comparison.variants:
        split = _test(variant)
        if split:
            once = split.per_seed[0]
            words = "" if once.words is None else f", {once.words:,} words"
            windows = f"in windows of {split.seq_len:,}" + (
                "" if split.stride == split.seq_len else f" every {split.stride:,}"
            )
            if split.state_carried:
                windows = "in one go, the state carried"
            train = variant.splits.get("train")
            sample = f"; train nll on the first {train.per_seed[0].tokens:,} tokens of train" if train else ""
            return f"; test split of {once.tokens:,} tokens{words}, {windows}{sample}"
    return ""


def _unigram(comparison: Comparison) -> Iterator[str]:
    figures = dict.fromkeys(
        numbers.decimal(split.unigram_perplexity, 2) for split in map(_test, comparison.variants) if split
    )
    if figures:
        yield f"Token frequencies alone (unigram) reach a test perplexity of {' / '.join(figures)}."


def _pairings(comparison: Comparison) -> Iterator[str]:
    for difference in one_difference_each(comparison):
        pairing = difference.pairing
        paired = pairing_in_words(pairing.level, difference.variant, difference.baseline)
        in_the_verdict = pairing.level == "none" and difference.split == "test"
        yield f"{paired}." if in_the_verdict else f"{paired} ({'; '.join(pairing.reasons)})."
        pair = f"{difference.variant} and {difference.baseline}"
        yield f"{pair} differ in: {differing_keys(comparison, difference)}."
