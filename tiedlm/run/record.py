"""The result of a run: what it was, what came out, on which machine."""

import platform
from collections.abc import Iterator, Sequence
from importlib import metadata

import torch

from tiedlm.evaluation.measures import nats_per_token
from tiedlm.model.parameters import count_parameters
from tiedlm.run.folder import raw_config
from tiedlm.run.result import Corpus, CurvePoint, Effective, Footprint, Hashes, Memory, RunResult, SplitResult
from tiedlm.run.setup import Setup
from tiedlm.training.optimizer import is_fused
from tiedlm.training.trainer import ARITHMETIC, Progress, Training

_PACKAGES = ("tiedlm", "torch", "numpy", "tokenizers", "datasets")


def describe_run(
    setup: Setup,
    training: Training,
    start: dict[str, str | None],
    splits: dict[str, SplitResult],
    validations: Sequence[CurvePoint],
    predicted: Footprint,
) -> RunResult:
    """Put a result together; `start` holds the hashes taken before the first step, `validations` those on the way."""
    config, data, progress = setup.config, setup.data, training.progress
    return RunResult(
        config=raw_config(config),
        variant=config.variant,
        seed=config.seed,
        tying=config.model.tying.type,
        steps=progress.step,
        tokens_seen=progress.tokens_seen,
        first_loss=progress.first_loss,
        last_loss=progress.last_loss,
        parameters=count_parameters(setup.model, config.data.seq_len),
        splits=splits,
        validation_curve=[*validations, *_last_point(progress, splits["validation"])],
        corpus=Corpus(
            caption=data.corpus.caption,
            details=data.corpus.details,
            vocab_size=data.vocab_size,
            tokenizer=data.tokenizer_label,
        ),
        effective=_effective(setup, training),
        hashes=Hashes(
            body=start["body"] or "",
            input_embedding=start["input_embedding"],
            batches=progress.batches_hash,
            corpus=data.corpus.sha256,
            tokens=data.tokens_sha256,
        ),
        memory=Memory(
            gpu_peak_allocated_bytes=progress.peaks.gpu_allocated,
            gpu_peak_reserved_bytes=progress.peaks.gpu_reserved,
            predicted_peak_bytes=predicted.peak_bytes,
            host_peak_rss_bytes=progress.peaks.host_rss,
            predicted=predicted,
        ),
        steady_tokens=progress.steady_tokens,
        steady_seconds=progress.steady_seconds,
        seconds=progress.seconds,
        versions=_versions(),
    )


def _last_point(progress: Progress, scored: SplitResult) -> Iterator[CurvePoint]:
    """The end of the curve; a split without a token has none."""
    nats = nats_per_token(scored.nll, scored.tokens)
    if nats is not None:
        yield CurvePoint(step=progress.step, tokens=progress.tokens_seen, seconds=progress.seconds, nats_per_token=nats)


def _effective(setup: Setup, training: Training) -> Effective:
    machine = setup.machine
    return Effective(
        device=machine.device.type,
        device_name=machine.device_name,
        precision=machine.precision,
        compile=machine.compile,
        micro_batch_size=training.micro_batch_size,
        num_threads=torch.get_num_threads(),
        fused_optimizer=is_fused(setup.config.training, machine),
        arithmetic=ARITHMETIC,
        head=setup.config.training.effective_head,
    )


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: _version(name) for name in _PACKAGES}}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # used from a folder: no reason to lose a trained run
        return "not installed"
