"""Curves of a run in TensorBoard and wandb, where its config asks for them. Free of torch, and of both until then."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any

from tiedlm.config.base import ConfigError, Problem
from tiedlm.errors import RunError
from tiedlm.evaluation.measures import perplexity
from tiedlm.files import write_atomic
from tiedlm.paths import reason
from tiedlm.run.journal import Record
from tiedlm.training.record import StepRecord

KEY = "training.loggers"
FOLDERS = ("tensorboard", "wandb")
"""What lies in a run's folder, by the name of the logger."""


@dataclass(frozen=True)
class Title:
    """What a run is called: the experiment, the variant, the run in a few words, and its config as plain values."""

    experiment: str
    variant: str
    label: str
    config: Mapping[str, Any]


@dataclass(frozen=True)
class Resumed:
    """Where a run continues: steps up to `kept` are in its checkpoint, those up to `written` were logged before.

    The steps after `kept` are taken again, with the same values. `tokens` and `seconds` are those up to `kept`.
    """

    kept: int = 0
    written: int = 0
    tokens: int = 0
    seconds: float = 0.0


class Logger(ABC):
    """A writer of the journal that hands the curves of a run to another program."""

    def __init__(self, resumed: Resumed = Resumed()) -> None:
        self._before = resumed.tokens, resumed.seconds

    def add(self, record: Record) -> None:
        """Log the values of a record; raises RunError("disk")."""
        values = curves_of(record)
        if isinstance(record, StepRecord):
            tokens, seconds = record.tokens - self._before[0], record.seconds - self._before[1]
            self._before = record.tokens, record.seconds
            if seconds > 0:
                values["train/tokens_per_second"] = tokens / seconds
        with _disk_errors():
            self._log(record.step, values)

    def flush(self) -> None:
        """Make sure that what was logged outlives this process; raises RunError("disk")."""
        with _disk_errors():
            self._flush()

    @abstractmethod
    def close(self, ended_well: bool) -> None:
        """Take no more records."""

    @abstractmethod
    def _log(self, step: int, values: Mapping[str, float]) -> None:
        """Take the values of a step by the names of their curves; may raise OSError."""

    @abstractmethod
    def _flush(self) -> None:
        """May raise OSError."""


def curves_of(record: Record) -> dict[str, float]:
    """The values of a record by the names of their curves, without the speed, which is that since the step before."""
    if isinstance(record, StepRecord):
        ratios = record.update_ratios or {}
        return {
            "train/loss": record.loss,
            "train/learning_rate": record.learning_rate,
            "train/gradient_norm": record.gradient_norm,
            **{f"train/update_ratio/{part}": ratio for part, ratio in ratios.items() if ratio is not None},
        }
    nats, per_token = record.nats_per_token, perplexity(record.nll, record.num_tokens)
    values = {"validation/nats_per_token": nats, "validation/perplexity": per_token}
    return {name: value for name, value in values.items() if value is not None}


@contextmanager
def _disk_errors() -> Iterator[None]:
    """OSError as RunError("disk")."""
    try:
        yield
    except OSError as error:
        why = reason(error, Path(error.filename or "."))
        raise RunError("disk", f"{KEY}: could not be written: {why}") from error


def check_loggers(names: Sequence[str]) -> None:
    """Raise ConfigError where one is not installed. Nothing is imported."""
    missing = [name for name in names if (found := util.find_spec(name)) is None or found.origin is None]
    if missing:
        extras = ",".join(missing)
        raise ConfigError(Problem(KEY, f"needs {' and '.join(missing)}: pip install 'tiedlm[{extras}]'"))


def open_loggers(names: Sequence[str], folder: Path, title: Title, resumed: Resumed) -> list[Logger]:
    """The loggers of a run, which write into `folder`; raises ConfigError where one cannot begin."""
    check_loggers(names)
    makers: dict[str, type[TensorBoard] | type[Wandb]] = {"tensorboard": TensorBoard, "wandb": Wandb}
    return [makers[name](folder / name, title, resumed) for name in names]


def log_comparison(
    names: Sequence[str], folder: Path, experiment: str, verdict: str, num_seeds: int, values: Mapping[str, float]
) -> None:
    """Log how a comparison ended: its verdict, and values by name, such as `test/difference/tied`.

    Each logger writes below `folder`, that of the experiment, beside the curves of its runs. Raises ConfigError,
    RunError("disk").
    """
    check_loggers(names)
    with _disk_errors():
        if "tensorboard" in names:
            from torch.utils.tensorboard import SummaryWriter

            with SummaryWriter(str(folder / "tensorboard")) as writer:
                writer.add_text("verdict", verdict, num_seeds)
                for name, value in values.items():
                    writer.add_scalar(name, value, num_seeds)
        if "wandb" in names:
            run = _wandb_run(folder / "wandb", Title(experiment, "comparison", "comparison", {}))
            run.summary.update({"verdict": verdict, "seeds": num_seeds, **values})
            run.finish()


class TensorBoard(Logger):
    """Event files. Steps that are taken again are logged again, and their first values are marked as void."""

    def __init__(self, folder: Path, title: Title, resumed: Resumed) -> None:
        from torch.utils.tensorboard import SummaryWriter

        super().__init__(resumed)
        self.writer = SummaryWriter(str(folder), purge_step=resumed.kept + 1, flush_secs=10)
        if not resumed.written:
            self.writer.add_text("config", _as_code(title.config), 0)

    def close(self, ended_well: bool) -> None:
        """Close the event file."""
        self.writer.close()

    def _log(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def _flush(self) -> None:
        self.writer.flush()


class Wandb(Logger):
    """A wandb run, the same one over all interruptions. It accepts no step twice: those taken again are not logged."""

    def __init__(self, folder: Path, title: Title, resumed: Resumed) -> None:
        super().__init__(resumed)
        self.resumed = resumed
        self.run = _wandb_run(folder, title)

    def close(self, ended_well: bool) -> None:
        """Mark the wandb run as finished or as failed."""
        self.run.finish(exit_code=0 if ended_well else 1)

    def _log(self, step: int, values: Mapping[str, float]) -> None:
        if not self.resumed.kept < step <= self.resumed.written:
            self.run.log(dict(values), step=step)

    def _flush(self) -> None:
        """Nothing to do: a process of wandb's own has every value already."""


def _wandb_run(folder: Path, title: Title) -> Any:
    """The run of wandb whose id lies in `folder`, begun or gone on with; raises ConfigError."""
    import wandb

    folder.mkdir(parents=True, exist_ok=True)
    try:
        return wandb.init(
            project=title.experiment,
            group=title.variant,
            name=title.label,
            id=_stored_id(folder / "id.json"),
            resume="allow",
            dir=str(folder),
            config=dict(title.config),
            settings=wandb.Settings(console="off"),
        )
    except wandb.errors.Error as error:
        message = f"wandb cannot begin ({error}); WANDB_MODE=offline keeps its runs on this machine"
        raise ConfigError(Problem(KEY, message)) from error


def _as_code(config: Mapping[str, Any]) -> str:
    """A config as TensorBoard shows it unchanged: Markdown, each line set off."""
    return "".join(f"    {line}\n" for line in json.dumps(config, indent=2, ensure_ascii=False).splitlines())


def _stored_id(file: Path) -> str:
    """The id of a run for wandb, drawn once and kept beside it."""
    import secrets

    if not file.is_file():
        write_atomic(file, json.dumps({"id": secrets.token_hex(8)}))
    return str(json.loads(file.read_text(encoding="utf-8"))["id"])
