"""The files in a run's folder. Free of torch.

config.yaml (resolved, written first), data.json (which text; written before training) with the files of the tokenizer
beside it, metrics.jsonl, checkpoint/, evaluation/<split>.npz, rungs.json (of a trial that pauses on the way),
result.json (written last and at once: where it is, the run is complete) or failure.json. Where the folder itself lies:
tiedlm/run/layout.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from tiedlm.config.base import Config, ConfigError, Problem, Raw, first_difference, parse
from tiedlm.config.file import read_mapping
from tiedlm.config.yaml_core import dump_yaml
from tiedlm.data.tokenizer_files import TOKENIZER_FILES
from tiedlm.errors import RunError
from tiedlm.files import remove, remove_folder, write_atomic
from tiedlm.paths import check_folder
from tiedlm.run.clearing import clear
from tiedlm.run.config import RunConfig
from tiedlm.run.layout import Layout
from tiedlm.run.lock import LOCK_FILE, hold
from tiedlm.run.loggers import FOLDERS as LOGGERS
from tiedlm.run.result import RunFailure, RunResult
from tiedlm.run.token_types import VOCABULARY_FILE
from tiedlm.talk import SILENT, Talk

if TYPE_CHECKING:
    from tiedlm.data.identity import DataRecord
    from tiedlm.data.prepared import PreparedData

Record = TypeVar("Record", bound=Config)


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_file = path / "config.yaml"
        self.data_file = path / "data.json"
        self.metrics_file = path / "metrics.jsonl"
        self.checkpoints = path / "checkpoint"
        self.result_file = path / "result.json"
        self.failure_file = path / "failure.json"
        self.rungs_file = path / "rungs.json"

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
            raise ConfigError(Problem("", f"{self.path}{self._why_no_run()}"))
        return parse(RunConfig, read_mapping(self.config_file), str(self.config_file))

    def _why_no_run(self) -> str:
        if not self.path.is_dir():
            return ": no such folder; give a run's, as in runs/quickstart/tied/seed-0"
        below = run_folders(self.path)
        hint = f"; it holds those of an experiment, as {below[0].path}" if below else ""
        return f" holds no run (no config.yaml){hint}"

    def made_with(self) -> RunConfig:
        """The config; of a complete run from its result, whose JSON is read sooner than YAML. Raises RunError too."""
        result = self.result()
        return self.config() if result is None else parse(RunConfig, result.config, str(self.result_file), "config")

    def claim(self, config: RunConfig) -> None:
        """Write the config, or check that the run already here is the same; ConfigError names the first difference."""
        self.check_identity(config)
        if not self._is_taken():
            self.data_file.unlink(missing_ok=True)  # of the run that gives way
            self._write(config)
            self.failure_file.unlink(missing_ok=True)
            return
        stored = self.config()
        if stored.data != config.data:  # the same text, with the relative path of an earlier version
            self._write(stored.model_copy(update={"data": config.data}))

    def _write(self, config: RunConfig) -> None:
        write_atomic(self.config_file, dump_yaml(config.model_dump(mode="json")))

    def _is_taken(self) -> bool:
        """Whether there is a run here that could be lost: any but one that failed before it saved anything."""
        return self.config_file.is_file() and not (self.failure() and not any(self.checkpoints.glob("step-*")))

    def check_identity(self, config: RunConfig) -> None:
        """Raise ConfigError where the run here computes something else than `config`."""
        if self._is_taken():
            difference = self.difference_from(config)
            if difference is not None:
                way_out = "--fresh starts that run again, another name or --runs-dir keeps it"
                raise ConfigError(Problem(difference.key, f"{difference.message}; {way_out}"))

    def difference_from(self, config: RunConfig) -> Problem | None:
        """Where the run here computes something else than `config`, or its text is not there any more as it was."""
        made_with = self.made_with()
        difference = first_difference(made_with, config)
        if difference:
            key, stored, requested = difference
            return Problem(key, f"{self.path} was made with {stored!r}, now it is {requested!r}")
        from tiedlm.data.identity import difference_in_content

        other = difference_in_content(str(self.path), made_with.data, config.data, self.data_record())
        return None if other is None else Problem(*other)

    def data_record(self) -> "DataRecord | None":
        """Which text and tokenizer the run has; of an old run what its result says of them, if there is one."""
        from tiedlm.data.identity import DataRecord

        stored = _read(self.data_file, DataRecord)
        result = None if stored else self.result()
        if result is None:
            return stored
        corpus, hashes = result.corpus, result.hashes
        return DataRecord(
            corpus=hashes.corpus,
            tokens=hashes.tokens,
            details=corpus.details,
            tokenizer={},
        )

    def check_data(self, record: "DataRecord") -> None:
        """Raise ConfigError where the run here was begun with another text, or its text was cut into other tokens."""
        stored = self.data_record() if self._is_taken() else None
        difference = stored and stored.difference_from(record)
        if difference:
            message = f"{difference} is not what {self.path} was made with; --fresh starts that run again"
            raise ConfigError(Problem("data", message))

    def keep_data(self, data: "PreparedData") -> None:
        """Store which text and which tokenizer the run has, where that is not done; raises RunError("disk")."""
        if not self.data_file.is_file():
            data.save_tokenizer(self.path)
            write_atomic(self.data_file, to_json(data.record().model_dump(mode="json")))

    def result(self) -> RunResult | None:
        """The result of a complete run, else None."""
        return _read(self.result_file, RunResult)

    def failure(self) -> RunFailure | None:
        """Why the last try ended without a result, if it did."""
        return None if self.result_file.is_file() else _read(self.failure_file, RunFailure)

    def finish(self, result: RunResult) -> None:
        """Write the result, which makes the run complete."""
        self.failure_file.unlink(missing_ok=True)
        write_atomic(self.result_file, to_json(result.model_dump(mode="json")))

    def fail(self, config: RunConfig, failure: RunFailure) -> None:
        """Write down why there is no result, also of a run that failed before it could begin.

        A complete run has not failed: its process was killed when there was nothing left to do.
        """
        if self.result_file.is_file():
            return
        if not self._is_taken():  # else it is the run's own, whatever its text has become meanwhile
            self.claim(config)
        write_atomic(self.failure_file, to_json(failure.model_dump(mode="json")))

    def drop_checkpoints(self) -> None:
        """Remove the weights of a run that does not go on; raises RunError("disk")."""
        try:
            remove_folder(self.checkpoints)
        except OSError as error:
            raise RunError("disk", f"{self.checkpoints} could not be removed: {error}") from error

    def check_places(self) -> None:
        """Raise RunError("disk") where a link leads nowhere, or a file stands, in place of a folder of the run."""
        for place in self._folders:
            try:
                check_folder(place)
            except ConfigError as error:
                raise RunError("disk", f"{error}; --fresh removes it") from None

    def clear(self) -> None:
        """Remove what an earlier run left, the lock aside; raises RunError("disk").

        The result goes first and the config last: what is left of an interrupted one is no complete run, and its config
        says which run it was.
        """
        files = [self.failure_file, self.rungs_file, self.metrics_file, self.data_file]
        tokenizer = [self.path / name for name in TOKENIZER_FILES]
        clear(self.path, [self.result_file, *self._folders, *files, *tokenizer], last=self.config_file)

    @property
    def _folders(self) -> list[Path]:
        return [self.checkpoints, self.path / "evaluation", *(self.path / name for name in LOGGERS)]

    @contextmanager
    def lock(self, talk: Talk = SILENT) -> Iterator[None]:
        """Hold the folder for this process until the block ends; see `tiedlm.run.lock.hold`."""
        with hold(self.path, talk, when_held=self._drop_partial_files):
            yield

    def check_free(self, talk: Talk = SILENT) -> None:
        """Raise at once what `lock` would raise, before a process is started that takes the lock."""
        if (self.path / LOCK_FILE).is_file():
            with self.lock(talk):
                pass

    def _drop_partial_files(self) -> None:
        """Remove what a process that was killed had begun to write."""
        for folder in (self.path, self.path / "evaluation"):
            for left in folder.glob(".*.part"):
                remove(left)


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
    folders = map(RunFolder, Layout(experiment_dir).run_dirs())
    return [folder for folder in folders if folder.config_file.is_file()]


def part_folders(experiment_dir: Path) -> dict[str, list[RunFolder]]:
    """The runs of each recipe or budget under an experiment's folder, by its name; none of an experiment without.

    A folder of experiments looks alike from outside: what a run belongs to is said by its config.
    """
    found = {part: list(map(RunFolder, runs)) for part, runs in Layout(experiment_dir).runs_of_parts().items()}
    return {part: folders for part, folders in found.items() if folders[0].made_with().part == part}


def raw_config(config: RunConfig) -> Raw:
    """A run config as plain values, as it is stored and handed to another process."""
    return config.model_dump(mode="json")
