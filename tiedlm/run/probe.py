"""A few steps of a run's training on made-up ids, to see what they take."""

from typing import Any

import torch

from tiedlm.config.base import Config
from tiedlm.data.batches import build_batches
from tiedlm.errors import RunError
from tiedlm.model.language_model import build_model
from tiedlm.run.config import RunConfig
from tiedlm.run.process import call_worker, in_a_line
from tiedlm.training.machine import resolve_machine
from tiedlm.training.memory import host_rss, keep_freed_memory, read_peaks, reset_peaks
from tiedlm.training.trainer import Trainer


class Taken(Config):
    """Bytes that training took: how far the process grew at most, and the peak of the GPU's allocator."""

    host_growth_bytes: int | None
    gpu_peak_allocated_bytes: int | None
    gpu_peak_reserved_bytes: int | None
    tokens_per_second: float | None


def build_probe(config: RunConfig, size: int, vocab_size: int, *, num_rows: int | None = None) -> Trainer:
    """Training with micro-batches of `size`, about to take its first step.

    A step is `num_rows` windows; by default two micro-batches of them, since the second is like all further ones.
    """
    machine = resolve_machine(config.training, compiles=config.model.compiles)
    seq_len = config.data.seq_len
    rows = min(2 * size, config.training.batch_size) if num_rows is None else num_rows
    ids = torch.arange(rows * seq_len + 1).remainder(vocab_size).numpy()
    model = build_model(config.model, vocab_size, config.max_seq_len)
    model.initialize(config.seed)
    model.to(machine.device)
    batches = build_batches(ids, seq_len, rows, config.seed, contiguous=config.model.carries_state)
    return Trainer(model, batches, config.training, machine, num_steps=10**9, micro_batch_size=size, seed=config.seed)


def measure(config: RunConfig, size: int, vocab_size: int, num_steps: int) -> Taken:
    """What `num_steps` take in a fresh process; raises RunError where they do not end well."""
    try:
        taken: Any = call_worker("measure_steps", config, size=size, vocab_size=vocab_size, num_steps=num_steps)
    except RunError as error:
        raise RunError("error", f"{config.variant}: the trial failed: {in_a_line(error)}") from error
    return Taken.model_validate(taken)


def measure_here(config: RunConfig, size: int, vocab_size: int, num_steps: int) -> Taken:
    """What `num_steps` take in this process, which should have done nothing else before."""
    if config.training.num_threads:
        torch.set_num_threads(config.training.num_threads)
    keep_freed_memory()  # as a run does
    _load_kernels(config)
    device = resolve_machine(config.training).device
    before = host_rss()
    training = build_probe(config, size, vocab_size)
    reset_peaks(device)
    if training.machine.compile:
        training.training_step.compile()
    for _ in range(num_steps):
        training.advance()
    peaks, progress = read_peaks(device), training.progress
    return Taken(
        host_growth_bytes=None if before is None or peaks.host_rss is None else peaks.host_rss - before,
        gpu_peak_allocated_bytes=peaks.gpu_allocated,
        gpu_peak_reserved_bytes=peaks.gpu_reserved,
        tokens_per_second=progress.steady_tokens / progress.steady_seconds if progress.steady_seconds else None,
    )


def _load_kernels(config: RunConfig) -> None:
    """Take one step of a tiny model, so that loading libraries and starting threads are not measured."""
    few = {"batch_size": 1, "micro_batch_size": 1, "compile": False}
    tiny = config.model_copy(
        update={
            "data": config.data.model_copy(update={"seq_len": 8}),
            "model": config.model.model_copy(update={"num_layers": 1, "vocab_size": None}),
            "training": config.training.model_copy(update=few),
        }
    )
    build_probe(tiny, 1, 16).advance()
