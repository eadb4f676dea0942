"""One variant over its seeds: sums, the figures from them, and their spread. Free of torch.

One definition of each figure. Over seeds, `nll`, `tokens`, `words` and `bytes` of a split are *sums*, and its
perplexities and bits per byte come from these sums; where each seed scores the same tokens (always, for one text),
exp(nll / tokens) is the geometric mean of the seeds' perplexities, and its logarithm is the mean of their nats per
token, which is what the differences are in. Spreads are sample standard deviations over the seeds.
"""

from collections.abc import Sequence
from typing import Any

from tiedlm.comparison.split_summary import SplitSummary, summarize_split
from tiedlm.config.base import Config
from tiedlm.evaluation.absence import Reasons
from tiedlm.run.added import Added
from tiedlm.run.result import (
    SPLITS,
    CurvePoint,
    Effective,
    Footprint,
    Hashes,
    Memory,
    ParameterCounts,
    RunResult,
)


class SeedRun(Config):
    """What one run was: its losses, hashes, effective settings, and how it got there."""

    seed: int
    steps: int
    tokens_seen: int
    first_loss: float
    last_loss: float
    seconds: float
    effective: Effective
    hashes: Hashes
    validation_curve: list[CurvePoint] = []  # noqa: RUF012 (a frozen model); by step, the last one included
    versions: dict[str, str] = {}  # noqa: RUF012


class Saving(Config):
    """Parameters of a variant minus those of the baseline; `percent` is of the baseline's total."""

    parameters: int
    percent: float | None


class VariantSummary(Config):
    """One variant over its finished seeds; `added` where the plan and not the file named it.

    Peaks are the largest over seeds, `seconds` their sum; `config` is the resolved one of the first of them. `absent`
    says why a peak or `tokens_per_second` is null, by its key.
    """

    name: str
    tying: str
    added: Added | None = None
    seeds: list[int]
    parameters: ParameterCounts
    against_baseline: Saving | None
    splits: dict[str, SplitSummary]
    memory: Memory
    tokens_per_second: float | None
    seconds: float
    runs: list[SeedRun]
    config: dict[str, Any] = {}  # noqa: RUF012 (a frozen model)
    absent: Reasons = {}  # noqa: RUF012


def has_split(runs: Sequence[RunResult], split: str) -> bool:
    """Whether each of the runs scored the split."""
    return all(split in run.splits for run in runs)


def summarize_variant(name: str, runs: Sequence[RunResult], base_runs: Sequence[RunResult]) -> VariantSummary:
    """A variant's finished runs (at least one) taken together, beside those of the baseline (maybe none)."""
    memory, speed = _memory([run.memory for run in runs]), tokens_per_second(runs)
    return VariantSummary(
        name=name,
        tying=runs[0].tying,
        added=runs[0].config.get("added"),
        seeds=[run.seed for run in runs],
        parameters=runs[0].parameters,
        against_baseline=_saving(runs[0], base_runs[0]) if base_runs and base_runs[0].variant != name else None,
        splits={
            split: summarize_split([(run.seed, run.splits[split]) for run in runs])
            for split in SPLITS
            if has_split(runs, split)
        },
        memory=memory,
        tokens_per_second=speed,
        seconds=sum(run.seconds for run in runs),
        runs=[_seed_run(run) for run in runs],
        config=runs[0].config,
        absent=_absent(runs, memory, speed),
    )


def _absent(runs: Sequence[RunResult], memory: Memory, speed: float | None) -> Reasons:
    """Why a peak or the speed of a variant is null."""
    on_gpu = any(run.effective.device.startswith("cuda") for run in runs)
    gpu = "not measured" if on_gpu else "no GPU"
    why_no_forecast = memory.predicted.reason if memory.predicted else None
    reasons = {
        "gpu_peak_allocated_bytes": gpu,
        "gpu_peak_reserved_bytes": gpu,
        "predicted_peak_bytes": why_no_forecast or "nothing was forecast",
        "host_peak_rss_bytes": "not measured",
    }
    absent = {key: reason for key, reason in reasons.items() if getattr(memory, key) is None}
    return absent | ({} if speed is not None else {"tokens_per_second": "no step was timed: the runs were too short"})


def tokens_per_second(runs: Sequence[RunResult]) -> float | None:
    """Of the steady steps of all runs together; null where there were none."""
    seconds = sum(run.steady_seconds for run in runs)
    return sum(run.steady_tokens for run in runs) / seconds if seconds else None


def _seed_run(run: RunResult) -> SeedRun:
    return SeedRun(
        seed=run.seed,
        steps=run.steps,
        tokens_seen=run.tokens_seen,
        first_loss=run.first_loss,
        last_loss=run.last_loss,
        seconds=run.seconds,
        effective=run.effective,
        hashes=run.hashes,
        validation_curve=run.validation_curve,
        versions=run.versions,
    )


def _saving(run: RunResult, baseline: RunResult) -> Saving:
    total = baseline.parameters.total
    difference = run.parameters.total - total
    return Saving(parameters=difference, percent=100 * difference / total if total else None)


def _largest(values: Sequence[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _foreseen(footprint: Footprint) -> int:
    return footprint.peak_bytes or 0


def _memory(memories: Sequence[Memory]) -> Memory:
    return Memory(
        gpu_peak_allocated_bytes=_largest([memory.gpu_peak_allocated_bytes for memory in memories]),
        gpu_peak_reserved_bytes=_largest([memory.gpu_peak_reserved_bytes for memory in memories]),
        predicted_peak_bytes=_largest([memory.predicted_peak_bytes for memory in memories]),
        host_peak_rss_bytes=_largest([memory.host_peak_rss_bytes for memory in memories]),
        predicted=max((memory.predicted for memory in memories if memory.predicted), key=_foreseen, default=None),
    )
