"""How many training tokens does a variant need to reach the baseline's validation loss? Free of torch.

A validation during training is what a shorter run would have come to only as long as the learning rate has not begun to
fall. So the question has an answer under a constant rate, for the baseline's final validation loss, and under `wsd`
before its decay, for the baseline's last validation before that; under schedules that fall from the start it has none.
"""

import itertools
from collections.abc import Mapping, Sequence

from tiedlm.comparison.analyses.analysis import Analysis
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.pairing import pair
from tiedlm.comparison.statistics import mean
from tiedlm.config.base import Config
from tiedlm.run.result import CurvePoint, RunResult
from tiedlm.training.schedule import steps_before_decay


class SeedReach(Config):
    """When a run first got to `target` nats per token on validation, linear between two validations; or the reason."""

    seed: int
    target: float | None
    tokens: float | None
    reason: str | None = None


class VariantReach(Config):
    """Mean over the seeds in common, null with the reason unless each got there; `share` is of the baseline's there."""

    variant: str
    tokens: float | None
    share: float | None
    reason: str | None
    per_seed: list[SeedReach]


class TokensToReach(Config):
    """`is_final` says whether the target is the baseline's final loss, or that before its decay; null with a reason."""

    baseline: str
    is_final: bool | None
    reason: str | None
    variants: list[VariantReach]


def measure(finished: FinishedRuns) -> TokensToReach | None:
    """For the baseline and each variant but the noise floor; None where the baseline has not finished.

    The baseline too may reach its last loss before its last validation, where its curve goes up again.
    """
    baseline, baseline_runs = finished.baseline, finished.baseline_runs
    if not baseline_runs:
        return None
    reason = _falls(baseline_runs[0])
    if reason is not None:
        return TokensToReach(baseline=baseline, is_final=None, reason=f"of {baseline} {reason}", variants=[])
    by_seed = {run.seed: run for run in baseline_runs}
    of_baseline = _variant_reach(baseline, baseline_runs, by_seed)
    others = [
        _beside(_variant_reach(variant, runs, by_seed), of_baseline)
        for variant, runs in finished.by_variant.items()
        if variant != baseline and not _measures_noise(finished, variant)
    ]
    is_final = all(_steps_before_decay(run) == run.steps for run in baseline_runs)
    variants = [_beside(of_baseline, of_baseline), *others]
    return TokensToReach(baseline=baseline, is_final=is_final, reason=None, variants=variants)


def _measures_noise(finished: FinishedRuns, variant: str) -> bool:
    added = finished.added(variant)
    return added is not None and added.role == "noise_floor"


def _variant_reach(variant: str, runs: Sequence[RunResult], by_seed: Mapping[int, RunResult]) -> VariantReach:
    """Beside nothing yet."""
    per_seed = [_seed_reach(run, by_seed[run.seed]) for run in runs if run.seed in by_seed]
    tokens = _mean(per_seed)
    reason = None if tokens is not None else _reason(per_seed)
    return VariantReach(variant=variant, tokens=tokens, share=None, reason=reason, per_seed=per_seed)


def _beside(variant: VariantReach, baseline: VariantReach) -> VariantReach:
    """With its share of what the baseline takes over the very same seeds; null where that is not known of one."""
    seeds = {reach.seed for reach in variant.per_seed}
    of = _mean([reach for reach in baseline.per_seed if reach.seed in seeds])
    return variant.model_copy(update={"share": variant.tokens / of if variant.tokens is not None and of else None})


def _mean(per_seed: Sequence[SeedReach]) -> float | None:
    """Null unless each got there."""
    tokens = [reach.tokens for reach in per_seed if reach.tokens is not None]
    return mean(tokens) if tokens and len(tokens) == len(per_seed) else None


def _reason(per_seed: Sequence[SeedReach]) -> str:
    """The reasons with their seeds, where not all have the same."""
    seeds_of: dict[str, list[str]] = {}
    for reach in per_seed:
        if reach.reason is not None:
            seeds_of.setdefault(reach.reason, []).append(str(reach.seed))
    if not seeds_of:
        return "no seed has finished in both"
    said = [
        reason if len(seeds) == len(per_seed) else f"seed {', '.join(seeds)}: {reason}"
        for reason, seeds in seeds_of.items()
    ]
    return "; ".join(said)


def _seed_reach(run: RunResult, baseline: RunResult) -> SeedReach:
    target_points = _before_decay(baseline)
    target = target_points[-1].nats_per_token if target_points else None
    tokens, reason = _reached(run, baseline, target)
    return SeedReach(seed=run.seed, target=target, tokens=tokens, reason=reason)


def _reached(run: RunResult, baseline: RunResult, target: float | None) -> tuple[float | None, str | None]:
    falls, pairing = _falls(run), pair(run, baseline)
    if falls is not None:
        return None, falls
    if pairing.level == "none":
        return None, f"the runs are not pairs ({'; '.join(pairing.reasons)})"
    points = _before_decay(run)
    if target is None or len(points) < 2:
        return None, "too few validations on the way (training.evaluate_every)"
    if points[0].nats_per_token <= target:
        return None, f"there already at the first validation, after {points[0].tokens:,} tokens"
    for before, after in itertools.pairwise(points):
        if after.nats_per_token <= target:
            done = (before.nats_per_token - target) / (before.nats_per_token - after.nats_per_token)
            return before.tokens + done * (after.tokens - before.tokens), None
    return None, f"not reached within {points[-1].tokens:,} tokens"


def _falls(run: RunResult) -> str | None:
    """Why no point on the way stands for a shorter run; null where some do."""
    if _steps_before_decay(run) is not None:
        return None
    return f"the learning rate falls from the start ({_schedule(run)}), so that no point on the way is a shorter run's"


def _before_decay(run: RunResult) -> list[CurvePoint]:
    steps = _steps_before_decay(run)
    return [point for point in run.validation_curve if steps is not None and point.step <= steps]


def _steps_before_decay(run: RunResult) -> int | None:
    return steps_before_decay(_schedule(run), run.config["training"].get("decay"), run.steps)


def _schedule(run: RunResult) -> str:
    return str(run.config["training"].get("schedule", "cosine"))


ANALYSIS = Analysis("tokens_to_reach", TokensToReach, measure)
