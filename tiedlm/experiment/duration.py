"""How long the runs of a plan will take: from the speed of runs that finished on this machine, or from a guess."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from tiedlm.config.base import ConfigError
from tiedlm.errors import RunError
from tiedlm.forecast.speed import guess_flops_per_second
from tiedlm.forecast.vocabulary import find_tokens
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder, run_folders
from tiedlm.run.result import RunResult
from tiedlm.training.config import TrainingConfig
from tiedlm.training.machine import Machine, resolve_machine

Basis = Literal["guess", "other_shape", "same_shape"]
BASES: tuple[Basis, ...] = ("guess", "other_shape", "same_shape")
"""What a time rests on, the weakest first: a matrix product, other runs scaled by FLOPs,
runs with as many FLOPs a token."""
START = 5.0
"""Seconds for what does not grow with a run: its process, the text, the result."""
_SCORING = 3
"""Tokens that are scored in the time of one that is trained on: a forward pass of three passes."""
_MOST_RESULTS = 40
_TOLERANCE = 0.01


class Duration(NamedTuple):
    """Seconds of a run from its beginning to its end, and what they rest on; both None where nothing is known."""

    seconds: float | None = None
    basis: Basis | None = None


class Speeds:
    """The speeds that are known of this machine."""

    def __init__(self, runs_dir: Path) -> None:
        self.results = _newest_results(runs_dir)
        self._guesses: dict[tuple[str, int | None], float | None] = {}

    def duration(self, config: RunConfig, num_steps: int, flops_per_token: int, cache_dir: Path) -> Duration:
        """What a run takes whose step is `flops_per_token` for each token."""
        try:
            machine = resolve_machine(config.training)
        except ConfigError:  # a GPU that is not here
            return Duration()
        speed, basis = self._flops_per_second(machine, config.training, flops_per_token)
        if speed is None:
            return Duration()
        trained = num_steps * config.training.batch_size * config.data.seq_len
        tokens = trained + _num_scored(config, num_steps, cache_dir) / _SCORING
        return Duration(START + tokens * flops_per_token / speed, basis)

    def _flops_per_second(
        self, machine: Machine, training: TrainingConfig, flops_per_token: int
    ) -> tuple[float | None, Basis | None]:
        here = [
            result
            for result in self.results
            if result.effective.device_name == machine.device_name and result.effective.precision == machine.precision
        ]
        for result in here:
            if abs(result.parameters.flops_per_token / flops_per_token - 1) < _TOLERANCE:
                return _measured(result), "same_shape"
        if here:
            nearest = min(here, key=lambda result: abs(result.parameters.flops_per_token - flops_per_token))
            return _measured(nearest), "other_shape"
        key = machine.precision, training.num_threads
        if key not in self._guesses:
            self._guesses[key] = guess_flops_per_second(machine, training.num_threads)
        return self._guesses[key], "guess"


def _measured(result: RunResult) -> float:
    return result.steady_tokens / result.steady_seconds * result.parameters.flops_per_token


def _newest_results(runs_dir: Path) -> Sequence[RunResult]:
    """Of the runs under `runs_dir` the ones that ended last, the newest first, so far as they can be read."""
    places = sorted(runs_dir.iterdir()) if runs_dir.is_dir() else []
    folders = [folder for place in places for folder in run_folders(place) if folder.result_file.is_file()]
    folders.sort(key=lambda folder: folder.result_file.stat().st_mtime, reverse=True)
    results = filter(None, map(_readable, folders[:_MOST_RESULTS]))
    return [result for result in results if result.steady_tokens and result.steady_seconds]


def _readable(folder: RunFolder) -> RunResult | None:
    try:
        return folder.result()
    except RunError:  # for the run itself to tell
        return None


def _num_scored(config: RunConfig, num_steps: int, cache_dir: Path) -> float:
    """Tokens that a run scores, counted as often as its windows overlap; 0 where the text is not prepared yet."""
    prepared = find_tokens(config.data, cache_dir)
    if prepared is None:
        return 0
    sizes = {name: prepared.split(name).num_tokens for name in ("train", "validation", "test")}
    at_the_end = sizes["validation"]
    if not config.is_tuning_run:
        at_the_end += min(sizes["train"], sizes["validation"]) + sizes["test"]
    on_the_way = (num_steps - 1) // config.training.evaluate_every if config.training.evaluate_every else 0
    windows = config.windows()
    return (at_the_end + on_the_way * sizes["validation"]) * windows.seq_len / windows.stride
