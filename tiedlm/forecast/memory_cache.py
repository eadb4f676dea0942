"""Forecasts of memory, each distinct step worked out once and kept beside the prepared text."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

import torch
from pydantic import ValidationError

from tiedlm.config.base import memory_settings
from tiedlm.errors import RunError
from tiedlm.files import write_atomic
from tiedlm.forecast.footprint import Footprint
from tiedlm.forecast.memory import Target, forecast_peak
from tiedlm.forecast.sources import sources_sha256
from tiedlm.model.config import ModelConfig
from tiedlm.training.config import TrainingConfig
from tiedlm.training.machine import PrecisionName, resolve_machine


def forecast_step(
    model: ModelConfig,
    training: TrainingConfig,
    target: Target,
    vocab_size: int,
    seq_len: int,
    max_seq_len: int,
    cache_dir: Path,
) -> Footprint:
    """The footprint of a training step on `target`, from the cache where the very same step is in it."""
    sizes = [target.device, target.precision, target.micro_batch_size, vocab_size, seq_len, max_seq_len]
    settings = [model.model_dump(mode="json"), memory_settings(training)]
    key = json.dumps([torch.__version__, sources_sha256(), settings, sizes], sort_keys=True)
    file = cache_dir / "predicted-memory" / f"{hashlib.sha256(key.encode()).hexdigest()}.json"
    kept = _read(file)
    if kept is not None:
        return kept
    made = forecast_peak(model, training, target, vocab_size=vocab_size, seq_len=seq_len, max_seq_len=max_seq_len)
    if made.peak_bytes is not None:
        with suppress(RunError):  # where nothing can be kept it is made anew each time
            write_atomic(file, made.model_dump_json())
    return made


def target_of(training: TrainingConfig) -> Target:
    """Where a run with this recipe would take place; a GPU that the config names need not be here, and has bf16 then.

    Where the micro-batch size is still to be agreed on it is the whole batch.
    """
    size = training.batch_size if training.micro_batch_size == "auto" else training.micro_batch_size
    device = training.device.partition(":")[0]
    if device == "cuda" and not torch.cuda.is_available():
        precision: PrecisionName = "bf16" if training.precision == "auto" else training.precision
        return Target(device, precision, size)
    machine = resolve_machine(training)
    return Target(machine.device.type, machine.precision, size)


def _read(file: Path) -> Footprint | None:
    try:
        return Footprint.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None
