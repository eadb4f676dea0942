"""Predicted memory of runs, each distinct step worked out once and kept beside the prepared text."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

import torch
from pydantic import ValidationError

import tiedlm
from tiedlm.errors import RunError
from tiedlm.files import write_atomic
from tiedlm.forecast.footprint import Footprint
from tiedlm.forecast.memory import Target, predict_peak
from tiedlm.model.config import ModelConfig
from tiedlm.training.config import TrainingConfig
from tiedlm.training.precision import PrecisionName, resolve_machine

_SOURCES = ("kernels", "tying", "model", "training")
"""What a prediction follows from besides torch and the config."""
_HERE = Path(tiedlm.__file__).parent


def predict(
    model: ModelConfig,
    training: TrainingConfig,
    target: Target,
    vocab_size: int,
    seq_len: int,
    max_seq_len: int,
    cache_dir: Path,
) -> Footprint:
    """The footprint as it was found before for the very same step, else found now."""
    sizes = [target.device, target.precision, target.micro_batch_size, vocab_size, seq_len, max_seq_len]
    treatment = [training.z_loss > 0, training.output_max_grad_norm is None, training.embedding_max_grad_norm is None]
    recipe = [training.batch_size, training.optimizer, training.momentum, training.effective_head, *treatment]
    question = [torch.__version__, _sources(), model.model_dump(mode="json"), recipe, sizes]
    file = cache_dir / "predicted-memory" / f"{_digest(json.dumps(question, sort_keys=True).encode())}.json"
    known = _read(file)
    if known is not None:
        return known
    found = predict_peak(model, training, target, vocab_size=vocab_size, seq_len=seq_len, max_seq_len=max_seq_len)
    if found.peak_bytes is not None:
        with suppress(RunError):  # where nothing can be kept it is found anew each time
            write_atomic(file, found.model_dump_json())
    return found


def likely_target(training: TrainingConfig) -> Target:
    """Where a run with this recipe would take place; a GPU that is asked for need not be here, and has bf16 then.

    Where the micro-batch is to be found by trial it is the whole batch.
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


def _sources() -> str:
    files = [file for name in _SOURCES for file in sorted((_HERE / name).rglob("*.py"))]
    return _digest(b"".join(file.read_bytes() for file in files))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
