"""The sentences around the figures: what the text was, whether the runs are pairs, what failed, how to read a sign."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.summary import SplitSummary, VariantSummary
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import shown_variants

_PAIRED = {
    "start+batches": "{variant} and {baseline}: start and batches were equal",
    "batches": "{variant} and {baseline}: batches were equal, the start was not",
    "none": "{variant} and {baseline} are not pairs",
}


def context(comparison: Comparison) -> Iterator[str]:
    """What the figures rest on: text, unigram perplexity, savings, pairing, notes, failures, what is to come."""
    if comparison.corpus:
        yield f"Text: {comparison.corpus.caption}; {comparison.corpus.tokenizer}{_scored(comparison)}."
    yield from _unigram(comparison)
    yield from _savings(comparison)
    yield from _pairings(comparison)
    yield from comparison.notes
    for failure in comparison.failures:
        at = "" if failure.step is None else f" at step {failure.step:,}"
        yield f"Failed: {failure.variant}, seed {failure.seed} ({failure.kind}{at}): {failure.message}"
    if comparison.pending:
        count = len(comparison.pending)
        yield f"Not finished yet: {count} planned run{'s' if count > 1 else ''}."


def legend(comparison: Comparison) -> Iterator[str]:
    """How to read the table."""
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
    """What stands behind the verdicts, in so far as there are any."""
    differences = comparison.differences
    if any(difference.p_difference is not None for difference in differences):
        size = f"{comparison.smallest_worthwhile:g}"
        rule = f"better, worse: the 95 % interval excludes 0; equal: the 90 % interval lies within ±{size}."
        power = " seeds that would tell: at 80 % power, with the uncertainty of the spread."
        yield rule + (power if any(difference.seeds_needed for difference in differences) else "")
    corrected = [difference.variant for difference in _one_each(comparison) if difference.num_corrected_for > 1]
    if corrected:
        yield f"Holm-corrected: the verdicts on {', '.join(corrected)}; the intervals shown are not."


def reasons_for_null(comparison: Comparison) -> Iterator[str]:
    """Why a figure per word or per byte is missing."""
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


def reasons_for_no_interval(comparison: Comparison) -> Iterator[str]:
    """Why an interval over documents is missing."""
    for found in comparison.differences:
        if found.text_reason:
            yield f"{found.split}, {found.variant} over documents: none, {found.text_reason}."


def configured_differences(comparison: Comparison) -> Iterator[str]:
    """The config keys in which each variant was told to differ from the baseline."""
    for difference in _one_each(comparison):
        keys = ", ".join(difference.config_differences) or "nothing"
        yield f"{difference.variant} is configured otherwise than {difference.baseline} in: {keys}."


def _one_each(comparison: Comparison) -> list[Difference]:
    """One difference a variant: that on test, else on validation."""
    chosen: dict[str, Difference] = {}
    for difference in comparison.differences:
        if difference.variant not in chosen or difference.split == "test":
            chosen[difference.variant] = difference
    return list(chosen.values())


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


def warnings(comparison: Comparison) -> Iterator[str]:
    """What a reader must know before any figure."""
    pairs = [(split.token_perplexity, split.unigram_perplexity) for split in map(_test, comparison.variants) if split]
    if pairs and all(ours and unigram and ours >= unigram for ours, unigram in pairs):
        yield "No variant does better than token frequencies alone: trained too little for a difference to mean much."


@dataclass(frozen=True)
class Counted:
    """A model and how large it is."""

    name: str
    tying: str
    total: int
    non_embedding: int


def savings(models: Sequence[Counted]) -> Iterator[str]:
    """What tying saves, where the same model is there both ways: absolute, and as a share of the untied one."""
    for tied in models:
        untied_of: dict[int, list[str]] = {}
        for untied in models:
            same = tied.non_embedding == untied.non_embedding
            if (tied.tying, untied.tying) == ("tied", "untied") and same:
                untied_of.setdefault(untied.total, []).append(untied.name)
        for total, names in untied_of.items():
            saved = total - tied.total
            share = f"{100 * saved / total:.1f} % fewer than {' and '.join(names)}"
            yield f"Tying saves {saved:,} parameters: {tied.name} has {share}."


def _savings(comparison: Comparison) -> Iterator[str]:
    return savings(
        [
            Counted(variant.name, variant.tying, variant.parameters.total, variant.parameters.non_embedding)
            for variant in shown_variants(comparison)
        ]
    )


def _pairings(comparison: Comparison) -> Iterator[str]:
    for difference in _one_each(comparison):
        pairing = difference.pairing
        head = _PAIRED[pairing.level].format(variant=difference.variant, baseline=difference.baseline)
        in_the_verdict = pairing.level == "none" and difference.split == "test"
        yield f"{head}." if in_the_verdict else f"{head} ({'; '.join(pairing.reasons)})."
        other = [key for key in difference.config_differences if not key.startswith("model.tying")]
        if other:
            yield f"{difference.variant} and {difference.baseline} also differ in: {', '.join(other)}."
