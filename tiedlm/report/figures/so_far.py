"""How a comparison stands while runs are still to come: one sentence for each pair, and no verdict yet."""

from collections.abc import Iterator

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.verdict import UNIT, signed_together
from tiedlm.report.figures.cells import one_difference_each, reason_in


def differences_so_far(comparison: Comparison) -> Iterator[str]:
    """For each variant beside the baseline, its difference over the seeds that both have finished.

    "tied minus untied after 3 of 5 seeds: +0.126 nats per token on test (95 % interval +0.098 to +0.153), in favour of
    untied."
    """
    for difference in one_difference_each(comparison):
        yield f"{difference.variant} minus {difference.baseline} {_after(comparison, difference)}: {_size(difference)}."


def _after(comparison: Comparison, difference: Difference) -> str:
    """ "after 3 of 5 seeds"."""
    pair = (difference.variant, difference.baseline)
    seeds = {seed for variant in comparison.variants if variant.name in pair for seed in variant.seeds}
    planned = seeds | {run.seed for run in comparison.pending if run.variant in pair}
    done, total = difference.num_seeds, len(planned)
    return f"after {done} of {total} seeds" if total > 1 else "after its one seed"


def _size(difference: Difference) -> str:
    if difference.mean is None:
        return f"none, {reason_in(difference.absent, 'mean')}"
    size, *interval = signed_together(difference.mean, difference.interval)
    sure = f"95 % interval {interval[0]} to {interval[1]}" if interval else "no interval yet"
    favoured = difference.variant if difference.mean < 0 else difference.baseline
    side = "equal so far" if difference.mean == 0 else f"in favour of {favoured}"
    return f"{size} {UNIT} on {difference.split} ({sure}), {side}"
