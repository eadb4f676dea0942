"""What the finished seeds say while others are still to come, in a sentence for each variant."""

from collections.abc import Iterator

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.comparison.verdict import UNIT, signed_together

_SO_FAR = {
    "better": "{variant} is better, so far",
    "worse": "{variant} is worse, so far",
    "equal": "equal for practical purposes, so far",
    "no_difference": "no difference at all, so far",
    "cannot_tell": "cannot tell yet",
}


def so_far(comparison: Comparison | PartsComparison) -> Iterator[str]:
    """What all parts say together, or of a comparison by itself, a sentence for each variant:

    "2 of 5 seeds: tied - untied = +0.126 [+0.098, +0.153] nats per token on test: tied is worse, so far."."""
    if isinstance(comparison, PartsComparison):
        yield from (f"so far: {sentence}." for sentence in comparison.statements)
        return
    planned = {seed for variant in comparison.variants for seed in variant.seeds}
    planned |= {run.seed for run in comparison.pending} | {run.seed for run in comparison.failures}
    on_test = [found for found in comparison.differences if found.split == "test"]
    if not on_test:
        yield comparison.verdict
    for found in sorted(on_test, key=lambda found: not found.is_primary):
        yield f"{found.num_seeds} of {len(planned)} seeds: {_in_words(found)}."


def _in_words(found: Difference) -> str:
    pair = f"{found.variant} - {found.baseline}"
    if found.mean is None or found.pairing.level == "none":
        reasons = "; ".join(found.pairing.reasons) or "no seed has finished in both"
        return f"{pair} cannot be told ({reasons})"
    size, *ends = signed_together(found.mean, found.interval)
    interval = f" [{', '.join(ends)}]" if ends else ""
    if found.verdict == "cannot_tell" and found.num_seeds == 1:
        judged = "cannot tell from one seed"
    else:
        judged = _SO_FAR[found.verdict].format(variant=found.variant)
    return f"{pair} = {size}{interval} {UNIT} on {found.split}: {judged}"
