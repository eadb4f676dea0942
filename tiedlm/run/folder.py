"""What lies in a run's folder, and in an experiment's. Free of torch.

runs/<experiment>/<variant>/seed-<n>/: config.yaml (resolved, first), metrics.jsonl, checkpoint/,
evaluation/<split>.npz, result.json (last and atomic: its presence means complete) or failure.json.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from tiedlm.config.base import Config, ConfigError, Problem, Raw, first_difference, parse
from tiedlm.config.file import read_config
from tiedlm.config.yaml_core import dump_yaml
from tiedlm.errors import RunError
from tiedlm.files import write_atomic
from tiedlm.run.config import RunConfig
from tiedlm.run.loggers import FOLDERS as LOGGERS
from tiedlm.run.result import RunFailure, RunResult
from tiedlm.run.token_types import VOCABULARY_FILE
from tiedlm.talk import SILENT, Talk

Record = TypeVar("Record", bound=Config)
_PATIENCE = 600
"""Seconds in which a process that was told to end has taken its step and saved."""


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_file = path / "config.yaml"
        self.metrics_file = path / "metrics.jsonl"
        self.checkpoints = path / "checkpoint"
        self.result_file = path / "result.json"
        self.failure_file = path / "failure.json"

    def evaluation_file(self, split: str) -> Path:
        """Per-token scores of a split."""
        return self.path / "evaluation" / f"{split}.npz"

    @property
    def vocabulary_file(self) -> Path:
        """What training made of each token."""
        return self.path / "evaluation" / VOCABULARY_FILE

    def config(self) -> RunConfig:
        """The resolved config; ConfigError where the folder holds no run."""
        if not self.config_file.is_file():
            raise ConfigError(Problem("", f"{self.path} holds no run (no config.yaml)"))
        return parse(RunConfig, read_config(self.config_file), str(self.config_file))

    def made_with(self) -> RunConfig:
        """`config`, but of a complete run as its result tells it, which is read at once (RunError: it cannot be)."""
        result = self.result()
        return self.config() if result is None else parse(RunConfig, result.config, str(self.result_file), "config")

    def claim(self, config: RunConfig) -> None:
        """Write the config, or check that the run already here is the same; ConfigError names the first difference."""
        self.check_identity(config)
        if not self._is_taken():
            write_atomic(self.config_file, dump_yaml(config.model_dump(mode="json")))
            self.failure_file.unlink(missing_ok=True)

    def _is_taken(self) -> bool:
        """Whether a run is here that could be lost: not one that failed before anything of it was saved."""
        return self.config_file.is_file() and not (self.failure() and not any(self.checkpoints.glob("step-*")))

    def check_identity(self, config: RunConfig) -> None:
        """Raise ConfigError where the run here computes something else than `config`."""
        if not self._is_taken():
            return
        difference = first_difference(self.made_with(), config)
        if difference:
            key, there, asked = difference
            way_out = "--fresh starts that run again, another name or --runs-dir keeps it"
            message = f"{self.path} was made with {there!r}, now it is {asked!r}; {way_out}"
            raise ConfigError(Problem(key, message))

    def result(self) -> RunResult | None:
        """The result of a complete run, else None."""
        return _read(self.result_file, RunResult)

    def failure(self) -> RunFailure | None:
        """Why the last try ended without a result, if it did."""
        return None if self.result_file.is_file() else _read(self.failure_file, RunFailure)

    def finish(self, result: RunResult) -> None:
        """Write the result, which makes the run complete; nothing is left to do then."""
        self.failure_file.unlink(missing_ok=True)
        write_atomic(self.result_file, to_json(result.model_dump(mode="json")))

    def fail(self, config: RunConfig, failure: RunFailure) -> None:
        """Write down why there is no result, also of a run that failed before it could begin.

        A complete run has not failed: its process was killed when there was nothing left to do.
        """
        if self.result_file.is_file():
            return
        self.claim(config)
        write_atomic(self.failure_file, to_json(failure.model_dump(mode="json")))

    def drop_checkpoints(self) -> None:
        """Remove the weights of a complete run; raises RunError("disk")."""
        import shutil

        try:
            shutil.rmtree(self.checkpoints)
        except OSError as error:
            raise RunError("disk", f"{self.checkpoints} could not be removed: {error}") from error

    def clear(self) -> None:
        """Remove what an earlier run left, the lock aside; raises RunError("disk").

        The result goes first and the config last: broken off half-way, the rest is neither complete nor another run's.
        """
        import shutil

        try:
            self.result_file.unlink(missing_ok=True)
            for folder in (self.checkpoints, self.path / "evaluation", *(self.path / name for name in LOGGERS)):
                if folder.exists():
                    shutil.rmtree(folder)
            for file in (self.failure_file, self.metrics_file, self.config_file):
                file.unlink(missing_ok=True)
        except OSError as error:
            raise RunError("disk", f"{self.path} could not be cleared: {error}") from error

    @contextmanager
    def lock(self, talk: Talk = SILENT) -> Iterator[None]:
        """Hold the folder for this process, until it ends.

        Raises RunError("busy") that names the holder where another does, RunError("disk") where nothing can be written.
        A holder whose parent was killed is about to save and end: it is waited for, and `talk` says so.
        """
        import os

        from filelock import FileLock, Timeout

        holder = self.path / "lock.json"
        lock = FileLock(self.path / "lock", timeout=0.2)  # one that ends just now is let end
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire()
            except Timeout:
                if not _is_orphan(holder):
                    raise
                talk.say(f"waiting for {_holder(holder)}, whose parent is gone, to save its state and end")
                lock.acquire(timeout=_PATIENCE)
            self._drop_partial_files()
            write_atomic(holder, json.dumps({"process": os.getpid(), "parent": os.getppid()}))
        except Timeout:
            raise RunError("busy", f"{self.path} is in use by {_holder(holder)}") from None
        except (OSError, RunError) as error:
            lock.release()
            message = f"{self.path} cannot be used: {error} (disk full, or no right to write?)"
            raise RunError("disk", message) from error
        try:
            yield
        finally:
            holder.unlink(missing_ok=True)
            lock.release()

    def check_free(self, talk: Talk = SILENT) -> None:
        """Raise at once what `lock` would: for who is about to start a process that takes it."""
        if (self.path / "lock").is_file():
            with self.lock(talk):
                pass

    def _drop_partial_files(self) -> None:
        """Remove what a process that was killed had begun to write."""
        for folder in (self.path, self.path / "evaluation"):
            for left in folder.glob(".*.part"):
                left.unlink(missing_ok=True)


def _is_orphan(holder: Path) -> bool:
    """Whether the process that holds the folder has lost its parent, with which it ends."""
    import os

    try:
        os.kill(int(json.loads(holder.read_bytes())["parent"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return False  # there and another user's, or not known
    return False


def _holder(path: Path) -> str:
    try:
        return f"process {json.loads(path.read_bytes())['process']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def agreement_file(experiment_dir: Path) -> Path:
    """The micro-batch size that the runs of an experiment agreed on."""
    return experiment_dir / "micro_batch.json"


def to_json(document: Any) -> str:
    """JSON without bare NaN or infinity."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _read(path: Path, record: type[Record]) -> Record | None:
    return parse_record(path.read_bytes(), path, record) if path.is_file() else None


def parse_record(content: bytes, path: Path, record: type[Record]) -> Record:
    """What stands in a file of a run; raises RunError("corrupt") that names `path` where it is no such record."""
    try:
        return record.model_validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"{step}: " for step in first["loc"])
        way_out = "once this file is removed, the run goes on from its last checkpoint"
        raise RunError("corrupt", f"{path} cannot be read ({place}{first['msg']}); {way_out}") from None


def run_folders(experiment_dir: Path) -> list[RunFolder]:
    """Every run under an experiment's folder, by variant and seed number."""

    def order(path: Path) -> tuple[str, int]:
        number = path.parent.name.removeprefix("seed-")
        return path.parent.parent.name, int(number) if number.isdigit() else 0

    return [RunFolder(path.parent) for path in sorted(experiment_dir.glob("*/seed-*/config.yaml"), key=order)]


def newest_experiment(runs_dir: Path) -> Path | None:
    """The experiment under `runs_dir` whose runs were touched last; None where there is none."""
    stamps = [
        (stamp.stat().st_mtime, folder.path.parent.parent)
        for experiment in (sorted(runs_dir.iterdir()) if runs_dir.is_dir() else ())
        for folder in run_folders(experiment)
        for stamp in (folder.result_file if folder.result_file.is_file() else folder.config_file,)
    ]
    return max(stamps)[1] if stamps else None


def raw_config(config: RunConfig) -> Raw:
    """A run config as plain values, as it is stored and handed to another process."""
    return config.model_dump(mode="json")
