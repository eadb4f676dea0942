"""What a plan will take, before anything is done: steps, tokens, memory that is sure, disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiedlm.config import ConfigError
from tiedlm.data.batches import Batches
from tiedlm.experiment.config import RunConfig
from tiedlm.experiment.count import count_model, find_tokens, vocab_size_of
from tiedlm.experiment.plan import Run
from tiedlm.experiment.store import RunFolder
from tiedlm.model.counts import ParameterCounts

_MOMENTS = {"adamw": 2, "sgd": 1}
"""Values that the optimizer keeps for each parameter."""
_FLOAT = 4


def forecast(runs: Sequence[Run], cache_dir: Path) -> list[dict[str, Any]]:
    """One document a run. What hangs on text that is not prepared yet is null; so is the peak, not predicted yet.

    `state_bytes` is the fp32 parameters, their gradients and the optimizer's state: activations come on top.
    Raises ConfigError where a run on disk is not the one asked for.
    """
    return [_forecast(run, cache_dir) for run in runs]


def _forecast(run: Run, cache_dir: Path) -> dict[str, Any]:
    folder = RunFolder(run.directory)
    folder.check_identity(run.config)
    begun = "under way" if folder.config_file.is_file() else "to do"
    steps, counts = _num_steps(run.config, cache_dir), _counts(run.config, cache_dir)
    training, total = run.config.training, counts.total if counts else None
    moments = _MOMENTS[training.optimizer]
    return {
        "variant": run.config.variant,
        "seed": run.config.seed,
        "directory": str(run.directory),
        "state": "finished" if folder.result() is not None else begun,
        "steps": steps,
        "tokens": None if steps is None else steps * training.batch_size * run.config.data.seq_len,
        "parameters": total,
        "state_bytes": None if total is None else total * (2 + moments) * _FLOAT,
        "predicted_peak_bytes": None,
        "disk_bytes": None if total is None else total * (1 + moments) * _FLOAT * training.keep_last,
    }


def _counts(config: RunConfig, cache_dir: Path) -> ParameterCounts | None:
    try:
        vocab_size = vocab_size_of(config.model, config.data, cache_dir)
    except ConfigError:
        return None
    return count_model(config.model, vocab_size, config.max_seq_len, config.data.seq_len)


def _num_steps(config: RunConfig, cache_dir: Path) -> int | None:
    num_windows = 1
    if config.training.epochs is not None:
        prepared = find_tokens(config.data, cache_dir)
        if prepared is None:
            return None
        ids = prepared.split("train").ids
        num_windows = Batches(ids, config.data.seq_len, config.training.batch_size, config.seed).num_windows
    return config.training.num_steps(config.data.seq_len, num_windows)
