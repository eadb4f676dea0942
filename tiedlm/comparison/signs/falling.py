"""Does the validation loss still fall by more than the difference each time that the tokens double? Free of torch.

The fall is that from half of a run's tokens to its end. It is not what the next doubling would bring: under a schedule
that decays, the first half ends at a high rate and the second at a low one, and a part of the fall is the decay's. It
is an upper bound in that sense, and says so. Nor does it say that the difference will change: both arms may fall alike.
"""

import itertools
import math
from collections.abc import Iterator, Sequence

from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.signs.sign import Sign, deciding_differences, difference_in_words, limit_of, size_in_words
from tiedlm.comparison.statistics import mean
from tiedlm.comparison.verdict import UNIT
from tiedlm.config.base import Config
from tiedlm.run.result import CurvePoint, RunResult


class Fall(Config):
    """By how much the validation loss of a variant fell over the last doubling of tokens, in nats per token.

    `nats` is the mean over `seeds`; null with the reason where no run was scored by half of its tokens.
    `includes_decay`: the learning rate fell in that time, which has a share in it.
    """

    variant: str
    nats: float | None
    seeds: list[int]
    includes_decay: bool
    reason: str | None = None


def falls(finished: FinishedRuns) -> list[Fall]:
    """Of each variant that the config file names."""
    return [_fall(variant, finished.by_variant[variant]) for variant in finished.variants_of_file]


def falling_signs(finished: FinishedRuns, measured: Sequence[Fall]) -> Iterator[Sign]:
    """For each difference, where the mean fall of the two arms is larger."""
    by_variant = {fall.variant: fall for fall in measured}
    differences = list(deciding_differences(finished))
    for difference in differences:
        arms = [by_variant[difference.variant], by_variant[difference.baseline]]
        known = [fall.nats for fall in arms if fall.nats is not None]
        limit = limit_of(difference, finished)
        if len(known) < len(arms) or mean(known) <= limit:
            continue
        with_decay = " (in part by the schedule)" if any(fall.includes_decay for fall in arms) else ""
        of = f" of {difference.variant} and {difference.baseline}" if len(differences) > 1 else ""
        yield Sign(
            kind="still_falling",
            variant=difference.variant,
            subject=difference.variant,
            value=mean(known),
            limit=limit,
            statement=(
                f"validation{of} fell by {size_in_words(mean(known))} {UNIT} in the last doubling of tokens"
                f"{with_decay}, more than {difference_in_words(difference)}: a longer run may differ"
            ),
        )


def _fall(variant: str, runs: Sequence[RunResult]) -> Fall:
    fell = {run.seed: nats for run in runs if (nats := fall_of(run.validation_curve)) is not None}
    reason = "validation was not scored by half of the tokens (training.evaluate_every)"
    return Fall(
        variant=variant,
        nats=mean(list(fell.values())) if fell else None,
        seeds=list(fell),
        includes_decay=any(run.config["training"].get("schedule", "cosine") != "constant" for run in runs),
        reason=None if fell else reason,
    )


def fall_of(curve: Sequence[CurvePoint]) -> float | None:
    """From half of the tokens of the last point to it, linear in log tokens between points; below 0 where it rose.

    None where no point is so early.
    """
    if not curve:
        return None
    half, end = curve[-1].tokens / 2, curve[-1].nats_per_token
    for before, after in itertools.pairwise(curve):
        if 0 < before.tokens <= half < after.tokens:
            done = math.log(half / before.tokens) / math.log(after.tokens / before.tokens)
            return before.nats_per_token + done * (after.nats_per_token - before.nats_per_token) - end
    return None
