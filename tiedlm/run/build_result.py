"""The result of a finished run, put together from its parts."""

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Self

import torch

from tiedlm.evaluation.measures import nats_per_token
from tiedlm.forecast.footprint import Footprint
from tiedlm.model.language_model import LanguageModel
from tiedlm.model.parameters import count_parameters, hash_body, hash_input_embedding
from tiedlm.run.folder import raw_config
from tiedlm.run.result import Corpus, CurvePoint, Effective, Hashes, Memory, RunResult, SplitResult, UpdateRatios
from tiedlm.run.setup import Setup
from tiedlm.training.counters import Progress
from tiedlm.training.memory import Peaks
from tiedlm.training.optimizer import is_fused
from tiedlm.training.trainer import Trainer

_PACKAGES = ("tiedlm", "torch", "numpy", "tokenizers", "datasets")


@dataclass(frozen=True)
class StartHashes:
    """SHA-256 of the starting values, by which two runs are known to start alike."""

    body: str
    input_embedding: str | None

    @classmethod
    def of(cls, model: LanguageModel) -> Self:
        """Those of a model before its first step."""
        return cls(hash_body(model), hash_input_embedding(model))


def build_result(
    setup: Setup,
    trainer: Trainer,
    start: StartHashes,
    splits: dict[str, SplitResult],
    validations: Sequence[CurvePoint],
    update_ratios: UpdateRatios | None,
    forecast: Footprint,
) -> RunResult:
    """The result of a run that was trained and scored; `validations` are those before the last step."""
    config, data, progress = setup.config, setup.data, trainer.progress
    return RunResult(
        config=raw_config(config),
        variant=config.variant,
        seed=config.seed,
        tying=config.model.tying.type,
        steps=progress.step,
        tokens_seen=progress.tokens_seen,
        train_tokens=data.split("train").num_tokens,
        first_loss=progress.first_loss,
        last_loss=progress.last_loss,
        parameters=count_parameters(setup.model, config.data.seq_len),
        splits=splits,
        validation_curve=[*validations, *_last_point(progress, splits["validation"])],
        update_ratios=update_ratios,
        corpus=Corpus(
            caption=data.corpus.caption,
            details=data.corpus.details,
            vocab_size=data.vocab_size,
            tokenizer=data.tokenizer_label,
            overlap=data.overlap,
        ),
        effective=_effective(setup, trainer),
        hashes=_hashes(setup, start, progress.batches_hash),
        memory=_memory(progress.peaks, forecast),
        steady_tokens=progress.steady_tokens,
        steady_seconds=progress.steady_seconds,
        seconds=progress.seconds,
        versions=_versions(),
    )


def _last_point(progress: Progress, scored: SplitResult) -> list[CurvePoint]:
    """The end of the validation curve; none where the split has no token."""
    nats = nats_per_token(scored.nll, scored.tokens)
    if nats is None:
        return []
    step, tokens, seconds = progress.step, progress.tokens_seen, progress.seconds
    return [CurvePoint(step=step, tokens=tokens, seconds=seconds, nats_per_token=nats)]


def _effective(setup: Setup, trainer: Trainer) -> Effective:
    machine, environment = setup.machine, trainer.environment
    return Effective(
        device=environment.device,
        device_name=machine.device_name,
        precision=environment.precision,
        compile=environment.compile,
        micro_batch_size=environment.micro_batch_size,
        num_threads=torch.get_num_threads(),
        fused_optimizer=is_fused(setup.config.training, machine),
        arithmetic=environment.numerics_version,
        head=environment.head,
        embedding_stream=environment.embedding_stream,
    )


def _hashes(setup: Setup, start: StartHashes, batches: str) -> Hashes:
    return Hashes(
        body=start.body,
        input_embedding=start.input_embedding,
        batches=batches,
        corpus=setup.data.corpus.sha256,
        tokens=setup.data.tokens_sha256,
    )


def _memory(peaks: Peaks, forecast: Footprint) -> Memory:
    return Memory(
        gpu_peak_allocated_bytes=peaks.gpu_allocated,
        gpu_peak_reserved_bytes=peaks.gpu_reserved,
        predicted_peak_bytes=forecast.peak_bytes,
        host_peak_rss_bytes=peaks.host_rss,
        predicted=forecast,
    )


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: _version(name) for name in _PACKAGES}}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # used from a folder: no reason to lose a trained run
        return "not installed"
