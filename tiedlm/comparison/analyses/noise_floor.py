"""How much does re-initializing the embeddings alone change the baseline's loss? Differences are held against it.

The baseline is trained twice per seed, with the same body and batches; only the starting values of the embeddings
differ. The noise is the root mean square of the loss differences between the two: their true mean is 0, so n seeds give
n degrees of freedom. Like one seed of a difference between variants it is the noise of a *difference of two runs*, root
2 times that of one run. It does not decide significance: each difference has its own interval. Free of torch.
"""

import math
from collections.abc import Sequence

from tiedlm.comparison.analyses.analysis import Analysis
from tiedlm.comparison.contrast import Difference, contrast, nats, same_tokens
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.significance import sd_interval
from tiedlm.comparison.statistics import correlation, mean, sample_sd, unpaired_interval
from tiedlm.config.base import Config
from tiedlm.run.result import RunResult

FEWEST_FOR_CORRELATION = 3


class BesideNoise(Config):
    """A difference between variants beside the noise; `.._reason` says why a figure is null.

    `times_noise` is the size of the mean difference over the noise. `seed_correlation`
    (Pearson) says how much of the spread over seeds the variant shares with the baseline: what pairing them buys.
    `unpaired_difference` and its 95 % interval (Welch) are those of the means over whatever seeds either has finished.
    """

    variant: str
    times_noise: float | None
    times_noise_reason: str | None = None
    seed_correlation: float | None
    seed_correlation_reason: str | None = None
    unpaired_difference: float | None
    unpaired_ci95: tuple[float, float] | None
    unpaired_reason: str | None = None


class NoiseFloor(Config):
    """`variant` is `of` with its embeddings re-initialized; figures: `variant` minus `of`, nats per token on `split`.

    `noise` is the root mean square over `seeds`, `noise_ci95` its chi-square interval; `mean`, sample deviation `sd`
    and the t-interval of the mean are there to check it by: the true mean is 0. `reason` says why `noise` is null.
    """

    variant: str
    of: str
    split: str
    seeds: list[int]
    per_seed: list[float]
    mean: float | None
    sd: float | None
    ci95_seeds: tuple[float, float] | None
    noise: float | None
    noise_ci95: tuple[float, float] | None
    reason: str | None
    beside: list[BesideNoise]


def measure(finished: FinishedRuns) -> NoiseFloor | None:
    """The noise, and each judged difference on the deciding split beside it; None without a re-initialized variant."""
    redrawn = _redrawn(finished)
    if redrawn is None:
        return None
    variant, of = redrawn
    split = finished.deciding_split(variant, of)
    if split is None:
        return None
    redraw = contrast(finished.by_variant[variant], finished.by_variant[of], split)
    per_seed = redraw.per_seed if redraw.pairing.level != "none" else []
    reason = _why_no_noise(redraw)
    noise = math.sqrt(mean([difference**2 for difference in per_seed])) if reason is None else None
    return NoiseFloor(
        variant=variant,
        of=of,
        split=split,
        seeds=redraw.seeds,
        per_seed=per_seed,
        mean=redraw.mean if per_seed else None,
        sd=sample_sd(per_seed) if per_seed else None,
        ci95_seeds=redraw.ci95_seeds,
        noise=noise,
        noise_ci95=sd_interval(noise, len(per_seed) + 1, 0.95) if noise else None,
        reason=reason,
        beside=[
            _beside(difference, finished.by_variant[difference.variant], finished.baseline_runs, noise)
            for difference in finished.differences
            if difference.split == split
        ],
    )


def _redrawn(finished: FinishedRuns) -> tuple[str, str] | None:
    """The re-initialized variant and the one it is a copy of; the pair of the baseline if there are several."""
    added = {variant: finished.added(variant) for variant in finished.by_variant}
    pairs = [
        (variant, why.of)
        for variant, why in added.items()
        if why is not None and why.role == "noise_floor" and why.of in finished.by_variant
    ]
    return min(pairs, key=lambda pair: pair[1] != finished.baseline, default=None)


def _why_no_noise(redraw: Difference) -> str | None:
    if redraw.num_seeds == 0:
        return "no seed has finished in both"
    if redraw.mean is None:
        return "the two did not score the same tokens"
    if redraw.pairing.level == "none":
        return f"the runs are not pairs ({'; '.join(redraw.pairing.reasons)})"
    return "one seed says nothing of a spread" if redraw.num_seeds == 1 else None


def _beside(
    difference: Difference, variant: Sequence[RunResult], baseline: Sequence[RunResult], noise: float | None
) -> BesideNoise:
    times, why_no_times = _times_noise(difference, noise)
    shared, why_not_shared = _seed_correlation(difference, variant, baseline)
    mine, theirs = (nats(runs, difference.split) for runs in (variant, baseline))
    comparable = same_tokens([*variant, *baseline], difference.split)
    interval = unpaired_interval(mine, theirs) if comparable else None
    reason = "they did not score the same tokens" if not comparable else "two finished seeds of each are needed"
    return BesideNoise(
        variant=difference.variant,
        times_noise=times,
        times_noise_reason=why_no_times,
        seed_correlation=shared,
        seed_correlation_reason=why_not_shared,
        unpaired_difference=mean(mine) - mean(theirs) if comparable else None,
        unpaired_ci95=interval,
        unpaired_reason=None if interval else reason,
    )


def _times_noise(difference: Difference, noise: float | None) -> tuple[float | None, str | None]:
    if difference.mean is None or difference.pairing.level == "none":
        return None, "the runs are not pairs"
    if not noise:
        return None, "there is no noise to hold it against"
    return abs(difference.mean) / noise, None


def _seed_correlation(
    difference: Difference, variant: Sequence[RunResult], baseline: Sequence[RunResult]
) -> tuple[float | None, str | None]:
    if difference.mean is None:
        return None, "they did not score the same tokens"
    if difference.num_seeds < FEWEST_FOR_CORRELATION:
        return None, f"at least {FEWEST_FOR_CORRELATION} seeds in common are needed"
    in_common = set(difference.seeds)
    mine, theirs = (
        nats([run for run in runs if run.seed in in_common], difference.split) for runs in (variant, baseline)
    )
    coefficient = correlation(mine, theirs)
    return coefficient, None if coefficient is not None else "one of the two is the same for every seed"


ANALYSIS = Analysis("noise_floor", NoiseFloor, measure)
