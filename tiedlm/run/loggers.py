"""Curves of a run in TensorBoard and wandb, where its config asks for them. Free of torch, and of both until then."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any, Protocol, Self

from tiedlm.config.base import ConfigError, Problem
from tiedlm.errors import RunError
from tiedlm.files import write_atomic

KEY = "training.loggers"
FOLDERS = ("tensorboard", "wandb")
"""What lies in a run's folder, by the name of the logger."""


class Logger(Protocol):
    """Takes named values by step, from one process at a time."""

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Take the values of a step; called with steps in order."""

    def flush(self) -> None:
        """Make sure that what was added outlives this process."""

    def close(self, ended_well: bool) -> None:
        """Take no more."""


@dataclass(frozen=True)
class Title:
    """What a run is called: the experiment, the variant, the run in a few words, and its config as plain values."""

    experiment: str
    variant: str
    label: str
    config: Mapping[str, Any]


@dataclass(frozen=True)
class Resumed:
    """Where a run goes on: steps up to `kept` are in its checkpoint, those up to `written` had been handed on before.

    The steps between the two come again, with the same values.
    """

    kept: int = 0
    written: int = 0


class Loggers:
    """All the loggers of a run, fed with the lines of its metrics."""

    def __init__(self, loggers: Sequence[Logger]) -> None:
        self.loggers = loggers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for logger in self.loggers:
            logger.close(kind is None)

    def add(self, line: Mapping[str, float]) -> None:
        """Hand on a line of metrics.jsonl: of a step, or of a validation. Raises RunError("disk")."""
        with _on_disk():
            for logger in self.loggers:
                logger.add(int(line["step"]), values_of(line))

    def flush(self) -> None:
        """As the checkpoint is written, so that neither holds steps that the other lacks. Raises RunError("disk")."""
        with _on_disk():
            for logger in self.loggers:
                logger.flush()


@contextmanager
def _on_disk() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise RunError("disk", f"{KEY}: could not be written: {reason} (disk full, or no right to write?)") from error


def values_of(line: Mapping[str, float]) -> dict[str, float]:
    """What is drawn of a line: loss, rate and gradient norm, or the nats per token of validation."""
    if "validation_nll" in line:
        return {"validation/nats_per_token": line["validation_nll"] / line["validation_tokens"]}
    return {f"train/{name}": line[name] for name in ("loss", "learning_rate", "gradient_norm")}


def check_loggers(names: Sequence[str]) -> None:
    """Raise ConfigError where one is not installed. Nothing is imported."""
    missing = [name for name in names if (found := util.find_spec(name)) is None or found.origin is None]
    if missing:
        extras = ",".join(missing)
        raise ConfigError(Problem(KEY, f"needs {' and '.join(missing)}: pip install 'tiedlm[{extras}]'"))


def open_loggers(names: Sequence[str], folder: Path, title: Title, resumed: Resumed) -> Loggers:
    """The loggers of a run in `folder`; raises ConfigError where one cannot begin."""
    check_loggers(names)
    makers: dict[str, Callable[[Path, Title, Resumed], Logger]] = {"tensorboard": _TensorBoard, "wandb": _Wandb}
    return Loggers([makers[name](folder / name, title, resumed) for name in names])


class _TensorBoard:
    """Event files. What comes again after a stop is written again, and its first writing is marked as void."""

    def __init__(self, folder: Path, title: Title, resumed: Resumed) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(folder), purge_step=resumed.kept + 1, flush_secs=10)

    def add(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def flush(self) -> None:
        self.writer.flush()

    def close(self, ended_well: bool) -> None:
        self.writer.close()


class _Wandb:
    """A run of wandb's, one and the same over all stops. It takes no step twice: what comes again is left out."""

    def __init__(self, folder: Path, title: Title, resumed: Resumed) -> None:
        import wandb

        self.resumed = resumed
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self.run = wandb.init(
                project=title.experiment,
                group=title.variant,
                name=title.label,
                id=_identity(folder / "id.json"),
                resume="allow",
                dir=str(folder),
                config=dict(title.config),
                settings=wandb.Settings(console="off"),
            )
        except wandb.errors.Error as error:
            message = f"wandb cannot begin ({error}); WANDB_MODE=offline keeps its runs on this machine"
            raise ConfigError(Problem(KEY, message)) from error

    def add(self, step: int, values: Mapping[str, float]) -> None:
        if not self.resumed.kept < step <= self.resumed.written:
            self.run.log(dict(values), step=step)

    def flush(self) -> None:
        """A process of wandb's own has taken every value already."""

    def close(self, ended_well: bool) -> None:
        self.run.finish(exit_code=0 if ended_well else 1)


def _identity(file: Path) -> str:
    """The number of a run for wandb, drawn once and kept beside it."""
    import secrets

    if not file.is_file():
        write_atomic(file, json.dumps({"id": secrets.token_hex(8)}))
    return str(json.loads(file.read_text(encoding="utf-8"))["id"])
