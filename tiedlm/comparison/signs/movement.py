"""Do the embeddings move as fast as the body, each beside its own size? Free of torch.

The size of a step beside the size of the weights is a rough measure of how fast a matrix learns. An embedding that
moves by less than half of what the body moves by is learned slowly. In the runs that the limit comes from (two layers,
adamw, cosine schedule) the quotient was 0.44 to 0.49 where embeddings of init_std 0.02 had the rate of the body, which
cost 0.1 to 0.3 nats per token against a rate 8 times as high, with which it was 0.66 to 1.02; with init_std 1 it was
0.04 to 0.10, and the loss half a nat higher.
"""

import statistics
from collections.abc import Iterator, Sequence

from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.signs.sign import Sign
from tiedlm.comparison.statistics import mean
from tiedlm.config.base import Config
from tiedlm.run.result import RunResult, UpdateRatios

SLOWEST = 0.5
"""An embedding that moves by less than this share of what the body moves by is learned slowly."""
_BODY = "body"


class Movement(Config):
    """How far a step moves an embedding of a variant and its body, each as a share of its own size.

    Medians over the measured steps, then means over `seeds`; `quotient` is that of embedding over body at each step.
    Null with the reason where nothing was measured.
    """

    variant: str
    part: str | None
    ratio: float | None
    body: float | None
    quotient: float | None
    seeds: list[int]
    reason: str | None = None


def movements(finished: FinishedRuns) -> list[Movement]:
    """Of each embedding of each variant that the config file names."""
    found = [(variant, finished.by_variant[variant]) for variant in finished.variants_of_file]
    return [movement for variant, runs in found for movement in _movements(variant, runs)]


def slow_signs(measured: Sequence[Movement]) -> Iterator[Sign]:
    """For each embedding that is learned slowly, the slowest first."""
    known = [(each.quotient, each) for each in measured if each.quotient is not None]
    for quotient, movement in sorted(known, key=lambda pair: pair[0]):
        if quotient >= SLOWEST or movement.part is None:
            continue
        name = f"the {movement.part.replace('_', ' ')} of {movement.variant}"
        yield Sign(
            kind="slow_embeddings",
            variant=movement.variant,
            subject=name,
            value=quotient,
            limit=SLOWEST,
            statement=(
                f"a step moves {name}, beside its size, {quotient:.2f} times as far as the body: it may learn too "
                f"slowly"
            ),
        )


def _movements(variant: str, runs: Sequence[RunResult]) -> Iterator[Movement]:
    measured = {run.seed: run.update_ratios for run in runs if run.update_ratios is not None}
    parts = dict.fromkeys(part for ratios in measured.values() for part in ratios.by_part if part != _BODY)
    for part in parts:
        pairs_of = {seed: pairs for seed, ratios in measured.items() if (pairs := _pairs(ratios, part))}
        if pairs_of:
            yield Movement(
                variant=variant,
                part=part,
                ratio=mean([statistics.median(one for one, _ in pairs) for pairs in pairs_of.values()]),
                body=mean([statistics.median(body for _, body in pairs) for pairs in pairs_of.values()]),
                quotient=mean([statistics.median(one / body for one, body in pairs) for pairs in pairs_of.values()]),
                seeds=list(pairs_of),
            )
    if not parts:
        reason = "the runs are of a version that did not measure it"
        yield Movement(variant=variant, part=None, ratio=None, body=None, quotient=None, seeds=[], reason=reason)


def _pairs(ratios: UpdateRatios, part: str) -> list[tuple[float, float]]:
    """The ratio of an embedding and that of the body, of the steps that have both."""
    pairs = zip(ratios.by_part[part], ratios.by_part.get(_BODY, []), strict=False)
    return [(one, body) for one, body in pairs if one is not None and body]
