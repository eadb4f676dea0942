"""What a plan will take, before anything is done: steps, tokens, memory, disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiedlm.data.batches import build_batches
from tiedlm.data.open_corpus import open_corpus
from tiedlm.experiment.match import inner_width
from tiedlm.forecast.counts import count_model
from tiedlm.forecast.memory_cache import target_of
from tiedlm.forecast.vocabulary import find_tokens, fixed_vocab_size, requested_vocab_size
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder
from tiedlm.run.forecast import forecast_memory
from tiedlm.run.layout import Run
from tiedlm.run.result import ENDED
from tiedlm.training.config import TrainingConfig

_FLOAT = 4


def forecast(runs: Sequence[Run], cache_dir: Path, waiting: bool = False) -> list[dict[str, Any]]:
    """One JSON document a run. What depends on text that is not prepared yet is null.

    `waiting`: the runs wait for the tuning runs among them; they are shown with the first point of the grid.
    `state_bytes` is the fp32 parameters, their gradients and the optimizer's state; the forecast of the peak has the
    activations on top, of the whole batch at once where the micro-batch size is still to be agreed on.
    Raises ConfigError where a run on disk is not the one asked for, or its text cannot serve.
    """
    # before any forecast, so that a mistake is told at once
    states = ["waits" if waiting and not run.config.is_tuning_run else _state(run) for run in runs]
    for run, state in zip(runs, states, strict=True):
        if state not in ENDED:
            open_corpus(run.config.data.corpus).check()
    return [_forecast(run, cache_dir, state) for run, state in zip(runs, states, strict=True)]


def _state(run: Run) -> str:
    folder = RunFolder(run.directory)
    folder.check_identity(run.config)
    if folder.result() is not None:
        return "finished"
    failure = folder.failure()
    if failure is not None and failure.kind == "diverged":
        return "diverged"  # and would again
    return "under way" if folder.config_file.is_file() else "to do"


def _forecast(run: Run, cache_dir: Path, state: str) -> dict[str, Any]:
    config, training, steps = run.config, run.config.training, _num_steps(run.config, cache_dir)
    fixed_size = fixed_vocab_size(config.model, config.data, cache_dir)
    vocab_size = fixed_size or requested_vocab_size(config.data)
    counts = vocab_size and count_model(config.model, vocab_size, config.max_seq_len, config.data.seq_len)
    footprint = vocab_size and forecast_memory(config, target_of(training), vocab_size, cache_dir)
    total, moments = counts.total if counts else None, _moments(training)
    return {
        "variant": config.variant,
        "seed": config.seed,
        "label": run.label,
        "trial_of": config.tuning_of,
        "directory": str(run.directory),
        "state": state,
        "steps": steps,
        "tokens": None if steps is None else steps * training.batch_size * config.data.seq_len,
        "vocab_size_is_known": fixed_size is not None,
        "parameters": total,
        "flops_per_token": counts.flops_per_token if counts else None,
        "num_layers": config.model.num_layers,
        "inner_width": inner_width(config.model),
        "state_bytes": None if total is None else total * (2 + moments) * _FLOAT,
        "predicted_peak_bytes": footprint.peak_bytes if footprint else None,
        "predicted": footprint.model_dump(mode="json") if footprint else None,
        "disk_bytes": None if total is None else total * (1 + moments) * _FLOAT * _num_checkpoints(training),
    }


def _num_checkpoints(training: TrainingConfig) -> int:
    """Checkpoints on disk at the end: the last ones, and the best one where validation is scored during training."""
    return training.keep_last + int(bool(training.evaluate_every and training.checkpoint_every))


def _moments(training: TrainingConfig) -> int:
    """Values that the optimizer keeps for each parameter."""
    return 2 if training.optimizer == "adamw" else int(bool(training.momentum))


def _num_steps(config: RunConfig, cache_dir: Path) -> int | None:
    num_windows = 1
    if config.training.epochs is not None:
        prepared = find_tokens(config.data, cache_dir)
        if prepared is None:
            return None
        ids = prepared.split("train").ids
        sizes = config.data.seq_len, config.training.batch_size
        num_windows = build_batches(ids, *sizes, config.seed, contiguous=config.model.carries_state).num_windows
    return config.training.num_steps(config.data.seq_len, num_windows)
