"""How did the training loss fall? From the journal that each run keeps of its steps. Free of torch.

The loss of a single step hangs on its batch. So the steps are taken together, equally many at each point: their mean.
"""

from collections.abc import Sequence
from pathlib import Path

from tiedlm.comparison.analyses.analysis import Analysis
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.statistics import mean
from tiedlm.comparison.stored_scores import MetricsOf
from tiedlm.config.base import Config
from tiedlm.run.result import RunResult

MAX_POINTS = 60
"""A curve has no more points than that."""


class SeedLosses(Config):
    """The mean training loss of the steps up to each point, in nats per token; none with the reason."""

    seed: int
    losses: list[float] = []  # noqa: RUF012 (a frozen model)
    reason: str | None = None


class VariantLosses(Config):
    """Points after `steps` steps and `tokens` tokens, `steps_per_point` apart but for the last, which may be nearer."""

    variant: str
    steps_per_point: int
    steps: list[int]
    tokens: list[int]
    per_seed: list[SeedLosses]


class TrainingLoss(Config):
    """Every variant, in the order in which variants are shown."""

    variants: list[VariantLosses]


def measure(finished: FinishedRuns) -> TrainingLoss | None:
    """The loss that training minimized: of the batch of each step, dropout and penalties included."""
    if finished.metrics_of is None or not finished.by_variant:
        return None
    curves = [_variant(variant, runs, finished.metrics_of) for variant, runs in finished.by_variant.items()]
    return TrainingLoss(variants=curves)


def _variant(variant: str, runs: Sequence[RunResult], metrics_of: MetricsOf) -> VariantLosses:
    """Of the seeds that took as many steps as the first, which all do that were made with one config."""
    num_steps, per_step = runs[0].steps, runs[0].tokens_seen / max(runs[0].steps, 1)
    size = max(-(-num_steps // MAX_POINTS), 1)
    ends = [min(end, num_steps) for end in range(size, num_steps + size, size)]
    return VariantLosses(
        variant=variant,
        steps_per_point=size,
        steps=ends,
        tokens=[round(end * per_step) for end in ends],
        per_seed=[_seed(run, size, num_steps, metrics_of) for run in runs],
    )


def _seed(run: RunResult, size: int, num_steps: int, metrics_of: MetricsOf) -> SeedLosses:
    try:
        losses = _losses(metrics_of(run))
    except (OSError, ValueError, KeyError, TypeError) as error:
        return SeedLosses(seed=run.seed, reason=f"its metrics.jsonl cannot be read ({type(error).__name__})")
    if len(losses) != num_steps:
        return SeedLosses(seed=run.seed, reason=f"its metrics.jsonl holds {len(losses):,} of {num_steps:,} steps")
    return SeedLosses(seed=run.seed, losses=[mean(losses[at : at + size]) for at in range(0, num_steps, size)])


def _losses(path: Path) -> list[float]:
    """Of every step that has one, in order."""
    from tiedlm.run.metrics import MetricsFile  # only where a comparison is made: one that is printed loads no configs

    losses = MetricsFile(path).losses()
    return [losses[step] for step in sorted(losses)]


ANALYSIS = Analysis("training_loss", TrainingLoss, measure)
