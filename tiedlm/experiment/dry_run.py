"""What a plan will take, before anything is done: steps, tokens, time, memory, disk."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tiedlm.data.batches import build_batches
from tiedlm.data.open_corpus import open_corpus
from tiedlm.experiment.duration import BASES, START, Duration, Speeds
from tiedlm.experiment.match import inner_width
from tiedlm.experiment.search import Search
from tiedlm.forecast.counts import count_model
from tiedlm.forecast.memory_cache import target_of
from tiedlm.forecast.vocabulary import find_tokens, fixed_vocab_size, requested_vocab_size
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder
from tiedlm.run.forecast import forecast_memory
from tiedlm.run.layout import Run
from tiedlm.run.result import ENDED
from tiedlm.run.rungs import read_rungs
from tiedlm.training.checkpoint import newest_step
from tiedlm.training.config import TrainingConfig

_FLOAT = 4


def forecast(
    runs: Sequence[Run], cache_dir: Path, waiting: Collection[Path] = (), search: Search | None = None
) -> list[dict[str, Any]]:
    """One JSON document a run. What depends on text that is not prepared yet is null.

    `waiting` are the folders of runs that wait for a choice: for settings of a tuning search, or for a recipe. They are
    shown with the first. Of a `search` that drops candidates on the way each trial has the mean share of what the
    search takes.
    `state_bytes` is the fp32 parameters, their gradients and the optimizer's state; the forecast of the peak has the
    activations on top, of the whole batch at once where the micro-batch size is still to be agreed on.
    `seconds` is what a run takes from its beginning to its end, with `seconds_basis` (tiedlm/experiment/duration).
    Raises ConfigError where a run on disk is not the one asked for, or its text cannot serve.
    """
    # before any forecast, so that a mistake is told at once
    states = ["waits" if run.directory in waiting else _state(run) for run in runs]
    for run, state in zip(runs, states, strict=True):
        if state not in ENDED:
            open_corpus(run.config.data.corpus).check()
    speeds = Speeds(runs[0].runs_dir)
    documents = [_forecast(run, cache_dir, state, speeds) for run, state in zip(runs, states, strict=True)]
    if search is not None and search.halving is not None:
        _share_what_is_left([one for one in documents if one["trial_of"] is not None], search)
    return documents


def _share_what_is_left(trials: Sequence[dict[str, Any]], search: Search) -> None:
    """Which candidates go on is not known: what a search still lacks is spread over the trials that have not ended."""
    planned = search.num_whole_runs / search.num_candidates
    starts = search.num_portions / len(trials) - planned  # a process for each portion, of which the share has a part
    ended = [trial for trial in trials if trial["state"] in ENDED]
    done = sum(trial["share_done"] for trial in trials)
    left = max(planned * len(trials) - done, 0)
    for trial in trials:
        is_open = trial not in ended
        trial["share_left"] = left / (len(trials) - len(ended)) if is_open else 0.0
        if trial["seconds"] is not None:
            trial["seconds_left"] = trial["seconds"] * trial["share_left"] + START * starts if is_open else 0.0


def tuning_size(search: Search, runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a search takes in all, of the documents that `forecast` makes; null where the length is not known.

    Steps and tokens are those at most: fewer where candidates diverge. `share` is the part of all tokens of the plan.
    """
    trials = [run for run in runs if run["trial_of"] is not None]
    all_tokens = _sum(run["tokens"] for run in runs if run["trial_of"] is None)
    steps, tokens = 0.0, 0.0
    for trial in trials:
        if trial["steps"] is None:
            steps = tokens = math.nan
            break
        part = search.num_steps(trial["steps"]) / search.num_candidates
        steps, tokens = steps + part, tokens + part * trial["tokens"] / trial["steps"]
    known = not math.isnan(steps)
    return {
        "method": search.method,
        "settings": search.num_candidates,
        "variants": len(search.candidates),
        "seeds": len(search.seeds),
        "entrants": search.halving.entrants(search.num_candidates) if search.halving else None,
        "shares": list(search.halving.shares) if search.halving else None,
        "whole_runs": round(search.num_whole_runs * len(search.candidates) * len(search.seeds), 6),
        "steps": round(steps) if known else None,
        "tokens": round(tokens) if known else None,
        "share": round(tokens / (tokens + all_tokens), 6) if known and all_tokens is not None else None,
    }


def totals(runs: Sequence[Mapping[str, Any]], search: Search | None = None) -> dict[str, Any]:
    """What all runs take together, of the documents that `forecast` makes of them; null where a part is not known.

    Tokens and seconds are those of the unfinished runs, and of one that is under way what it lacks. Runs follow one
    another, so `predicted_peak_bytes` is that of the largest. `disk_bytes` is that of all checkpoints at the end, where
    those of trials are gone; `disk_peak_bytes` has the one more that is written before an old one is removed, and of a
    `search` that drops candidates on the way the states of those that wait.
    """
    to_do = [run for run in runs if run["state"] not in ENDED]
    kept = [run for run in runs if run["trial_of"] is None]
    at_the_end = _sum(run["disk_bytes"] for run in kept)
    saving = _largest(run["checkpoint_bytes"] for run in kept)
    trials = [run for run in runs if run["trial_of"] is not None and run["disk_bytes"] is not None]
    num_waiting = search.num_waiting if search else 0
    trial = _largest((num_waiting + 1) * run["disk_bytes"] + run["checkpoint_bytes"] for run in trials)
    bases = {run["seconds_basis"] for run in to_do}
    return {
        "runs": len(runs),
        "to_do": len(to_do),
        "tokens": _sum(run["tokens"] and run["tokens"] * run["share_left"] for run in to_do),
        "seconds": _sum(run["seconds_left"] for run in to_do),
        "seconds_basis": next((basis for basis in BASES if basis in bases), None) if None not in bases else None,
        "predicted_peak_bytes": _largest(run["predicted_peak_bytes"] for run in to_do),
        "disk_bytes": at_the_end,
        "disk_peak_bytes": None if at_the_end is None or saving is None else max(at_the_end + saving, trial or 0),
    }


def _sum(values: Iterable[float | None]) -> int | None:
    known = list(values)
    return None if None in known else round(sum(value for value in known if value is not None))


def _largest(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else max((value for value in known if value is not None), default=0)


def _state(run: Run) -> str:
    folder = RunFolder(run.directory)
    folder.check_identity(run.config)
    if folder.result() is not None:
        return "finished"
    failure = folder.failure()
    if failure is not None and failure.kind == "diverged":
        return "diverged"  # and would again
    record = read_rungs(folder)
    if record is not None and record.pruned_at_step is not None:
        return "pruned"
    return "under way" if folder.config_file.is_file() else "to do"


def _forecast(run: Run, cache_dir: Path, state: str, speeds: Speeds) -> dict[str, Any]:
    config, training, steps = run.config, run.config.training, _num_steps(run.config, cache_dir)
    fixed_size = fixed_vocab_size(config.model, config.data, cache_dir)
    vocab_size = fixed_size or requested_vocab_size(config.data)
    counts = vocab_size and count_model(config.model, vocab_size, config.max_seq_len, config.data.seq_len)
    footprint = vocab_size and forecast_memory(config, target_of(training), vocab_size, cache_dir)
    total, moments = counts.total if counts else None, _moments(training)
    checkpoint = None if total is None else total * (1 + moments) * _FLOAT
    done = _share_done(run, state, steps)
    left = 0.0 if state in ENDED else 1 - done
    duration = speeds.duration(config, steps, counts.flops_per_token, cache_dir) if steps and counts else Duration()
    return {
        "part": config.part,
        "variant": config.variant,
        "seed": config.seed,
        "label": run.label,
        "trial_of": config.tuning_of,
        "directory": str(run.directory),
        "state": state,
        "steps": steps,
        "tokens": None if steps is None else steps * training.batch_size * config.data.seq_len,
        "share_done": done,
        "share_left": left,
        "seconds": duration.seconds,
        "seconds_left": duration.seconds and duration.seconds * left,
        "seconds_basis": duration.basis,
        "vocab_size_is_known": fixed_size is not None,
        "parameters": total,
        "flops_per_token": counts.flops_per_token if counts else None,
        "num_layers": config.model.num_layers,
        "inner_width": inner_width(config.model),
        "state_bytes": None if total is None else total * (2 + moments) * _FLOAT,
        "predicted_peak_bytes": footprint.peak_bytes if footprint else None,
        "predicted": footprint.model_dump(mode="json") if footprint else None,
        "checkpoint_bytes": checkpoint,
        "disk_bytes": None if checkpoint is None else checkpoint * _num_checkpoints(training),
    }


def _share_done(run: Run, state: str, steps: int | None) -> float:
    """The part of a run that its newest checkpoint has, or that was done before it ended."""
    folder = RunFolder(run.directory)
    if state == "finished":
        return 1.0
    if state == "pruned":
        record = read_rungs(folder)
        return record.scores[-1].share if record else 0.0
    return min(newest_step(folder.checkpoints) / steps, 1) if steps else 0.0


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
