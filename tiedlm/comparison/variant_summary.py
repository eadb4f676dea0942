"""One variant over its seeds: sums, the figures from them, and their spread. Free of torch.

One definition of each figure. Over seeds, `nll`, `tokens`, `words` and `bytes` of a split are *sums*, and its
perplexities and bits per byte come from these sums; where each seed scores the same tokens (always, for one text),
exp(nll / tokens) is the geometric mean of the seeds' perplexities, and its logarithm is the mean of their nats per
token, which is what the differences are in. Spreads are sample standard deviations over the seeds.
"""

from collections.abc import Sequence
from typing import Any

from tiedlm.comparison.statistics import sample_sd
from tiedlm.config.base import Config
from tiedlm.evaluation.measures import bits_per_byte, nats_per_token, perplexity
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
    SplitResult,
)


class SeedScore(Config):
    """One seed's sums on a split, and the figures from them."""

    seed: int
    nll: float
    tokens: int
    words: int | None
    bytes: int | None
    nats_per_token: float | None
    token_perplexity: float | None
    word_perplexity: float | None
    bits_per_byte: float | None


class SplitSummary(Config):
    """A split over all seeds: sums, the figures from them, and the spread over seeds (null for one seed)."""

    nll: float
    tokens: int
    words: int | None
    words_reason: str | None
    bytes: int | None
    bytes_reason: str | None
    nats_per_token: float | None
    nats_per_token_sd: float | None
    token_perplexity: float | None
    token_perplexity_sd: float | None
    word_perplexity: float | None
    bits_per_byte: float | None
    unigram_perplexity: float | None
    documents: int
    seq_len: int
    stride: int
    state_carried: bool = False
    per_seed: list[SeedScore]


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

    Peaks are the largest over seeds, `seconds` their sum; `config` is the resolved one of the first of them.
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


def has_split(runs: Sequence[RunResult], split: str) -> bool:
    """Whether each of the runs scored the split."""
    return all(split in run.splits for run in runs)


def summarize_variant(name: str, runs: Sequence[RunResult], base_runs: Sequence[RunResult]) -> VariantSummary:
    """A variant's finished runs (at least one) taken together, beside those of the baseline (maybe none)."""
    return VariantSummary(
        name=name,
        tying=runs[0].tying,
        added=runs[0].config.get("added"),
        seeds=[run.seed for run in runs],
        parameters=runs[0].parameters,
        against_baseline=_saving(runs[0], base_runs[0]) if base_runs and base_runs[0].variant != name else None,
        splits={
            split: _split([(run.seed, run.splits[split]) for run in runs]) for split in SPLITS if has_split(runs, split)
        },
        memory=_memory([run.memory for run in runs]),
        tokens_per_second=tokens_per_second(runs),
        seconds=sum(run.seconds for run in runs),
        runs=[_seed_run(run) for run in runs],
        config=runs[0].config,
    )


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


def _split(scored: Sequence[tuple[int, SplitResult]]) -> SplitSummary:
    per_seed = [_seed_score(seed, result) for seed, result in scored]
    results = [result for _, result in scored]
    first = results[0]
    nll, tokens = sum(result.nll for result in results), sum(result.tokens for result in results)
    words = _sum([result.words for result in results])
    num_bytes = _sum([result.bytes for result in results])
    return SplitSummary(
        nll=nll,
        tokens=tokens,
        words=words,
        words_reason=next((result.words_reason for result in results if result.words_reason), None),
        bytes=num_bytes,
        bytes_reason=next((result.bytes_reason for result in results if result.bytes_reason), None),
        nats_per_token=nats_per_token(nll, tokens),
        nats_per_token_sd=_spread([score.nats_per_token for score in per_seed]),
        token_perplexity=perplexity(nll, tokens),
        token_perplexity_sd=_spread([score.token_perplexity for score in per_seed]),
        word_perplexity=perplexity(nll, words),
        bits_per_byte=bits_per_byte(nll, num_bytes),
        unigram_perplexity=perplexity(sum(result.unigram_nll for result in results), tokens),
        documents=first.documents,
        seq_len=first.seq_len,
        stride=first.stride,
        state_carried=first.state_carried,
        per_seed=per_seed,
    )


def _seed_score(seed: int, result: SplitResult) -> SeedScore:
    return SeedScore(
        seed=seed,
        nll=result.nll,
        tokens=result.tokens,
        words=result.words,
        bytes=result.bytes,
        nats_per_token=nats_per_token(result.nll, result.tokens),
        token_perplexity=perplexity(result.nll, result.tokens),
        word_perplexity=perplexity(result.nll, result.words),
        bits_per_byte=bits_per_byte(result.nll, result.bytes),
    )


def _spread(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sample_sd(known) if known and len(known) == len(values) else None


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


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
