"""Text data sets of the Hugging Face hub, through the `datasets` library and its own cache."""

import pickle
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiedlm.config.base import ConfigError, Problem
from tiedlm.config.problems import shown
from tiedlm.data.config import SPLITS, HubCorpus, Split
from tiedlm.data.corpus import Details, Evidence
from tiedlm.data.counting import TextCounts
from tiedlm.data.documents import Row, Text, rows_of
from tiedlm.data.hub_access import BUSY, datasets_cache, endpoint, is_offline, prepare_library, status_of
from tiedlm.data.slices import Slice, parse_slices, refuse_overlapping
from tiedlm.errors import RunError
from tiedlm.paths import is_full
from tiedlm.talk import Talk

_WAITS = (1.0, 2.0, 4.0)
"""Seconds between tries while the hub says that it is busy."""
_BATCH = 1000
_MAPPED = 1 << 25
"""Bytes read of a memory map before it is let go."""
_COMMIT = "[0-9a-f]{40}"


@dataclass
class HubSource:
    """One text column of a data set; `slices` name the part that each split takes (`train[:95%]` works)."""

    id: str
    config: str | None
    revision: str | None
    slices: Mapping[Split, str]
    column: str = "text"
    config_key: str = "data.corpus.config"

    def __post_init__(self) -> None:
        self._commit = self.revision if re.fullmatch(_COMMIT, self.revision or "") else None

    @property
    def label(self) -> str:
        """Its id and config."""
        return f"{self.id} {self.config}" if self.config else self.id

    def check(self) -> None:
        """Raise ConfigError where a slice is not written as one, or two overlap however long the data set is."""
        refuse_overlapping(self.slices, self._parsed())

    def _parsed(self) -> dict[Split, list[Slice]]:
        return {split: parse_slices(text, f"data.corpus.{split}") for split, text in self.slices.items()}

    def evidence(self) -> Evidence | None:
        """The library's cached files of a commit; a branch, or no revision, says nothing until it is loaded."""
        if self._commit is None:
            return None
        return _stamps(sorted(datasets_cache().glob(f"*/{self.config or '*'}/*/{self._commit}/*.arrow")))

    def details(self) -> Details:
        """What `load_dataset` needs to get the same text."""
        own: Details = {split: text for split, text in self.slices.items() if text != split}
        return {"source": self.id, "config": self.config, "revision": self._commit or self.revision, **own}

    def load(self, talk: Talk) -> dict[Split, "Column"]:
        """Download what the cache lacks. Raises ConfigError, or RunError where neither hub nor cache has it."""
        if Path(self.id).exists():
            message = f"{self.id!r} is a folder here too, which the library would read: start where there is none"
            raise ConfigError(Problem("data.corpus.id", message))
        prepare_library(talk)
        import datasets

        whole = self._load_patiently(datasets, talk)
        folders = {Path(file["filename"]).parent.name for part in whole.values() for file in part.cache_files}
        loaded = next((name for name in folders if re.fullmatch(_COMMIT, name)), self._commit)
        if self._commit not in (None, loaded):  # offline, the library takes whichever revision its cache has
            raise _out_of_reach(self, f"revision {self._commit} ")
        self._commit = loaded
        self._check_splits(datasets, whole)
        return {split: self._column(datasets, whole, split) for split in SPLITS}

    def _check_splits(self, datasets: Any, whole: Any) -> None:
        """Raise ConfigError for a split that is not there, and for slices that share rows, now counted."""
        for split, slices in self._parsed().items():
            for name in (part.name for part in slices if part.name not in whole):
                message = f"{self.slices[split]!r}: {self.id} has no split {name}; it has {', '.join(whole)}"
                raise ConfigError(Problem(f"data.corpus.{split}", message))
        num_rows = {name: len(part) for name, part in whole.items()}
        rows = {split: _rows(datasets, text, num_rows, f"data.corpus.{split}") for split, text in self.slices.items()}
        refuse_overlapping(self.slices, rows)

    def _load_patiently(self, datasets: Any, talk: Talk) -> Any:
        """The data set, tried again while the hub is busy; what was downloaded by then is not downloaded again."""
        for wait in _WAITS:
            try:
                return self._load_dataset(datasets)
            except RunError as error:
                if status_of(error.__cause__) not in BUSY:
                    raise
                talk.say(f"{endpoint()} is busy; trying again in {wait:g} s")
                time.sleep(wait)
        return self._load_dataset(datasets)

    def _load_dataset(self, datasets: Any, split: str | None = None, key: str = "") -> Any:
        try:
            return datasets.load_dataset(self.id, self.config, revision=self.revision, split=split)
        except Exception as error:  # the library, its transports and Arrow have no common base
            if split and isinstance(error, ValueError):
                raise ConfigError(Problem(key, f"{split!r}: {error}")) from None
            raise _explained(error, self) from error

    def _column(self, datasets: Any, whole: Any, split: Split) -> "Column":
        wanted, key = self.slices[split], f"data.corpus.{split}"
        part = whole[wanted] if wanted in whole else self._load_dataset(datasets, wanted, key)
        texts = [column for column, kind in part.features.items() if _is_text(kind)]
        if self.column not in texts:
            message = f"{self.column!r} is no text column of {self.id}; text columns: {', '.join(texts) or 'none'}"
            raise ConfigError(Problem("data.corpus.column", message))
        return Column(part.select_columns([self.column]).with_format("arrow"), self.column)


class Column:
    """The values of a text column, from the library's memory map; missing values are left out.

    What was read of a map stays resident, so it is mapped anew now and then: a pickled data set names its files.
    """

    def __init__(self, dataset: Any, name: str) -> None:
        self._packed = pickle.dumps(dataset)
        self._num_rows = len(dataset)
        self._name = name

    def __iter__(self) -> Iterator[str]:
        row = 0
        while row < self._num_rows:
            dataset, num_bytes = pickle.loads(self._packed), 0
            while row < self._num_rows and num_bytes < _MAPPED:
                table = dataset[row : row + _BATCH]
                row += len(table)
                num_bytes += table.nbytes
                yield from (value for value in table[self._name].to_pylist() if value is not None)
            del dataset, table  # before the next map is made


def _rows(datasets: Any, text: str, num_rows: Mapping[str, int], key: str) -> list[Slice]:
    """The rows that the library makes of slices."""
    try:
        absolute = datasets.ReadInstruction.from_spec(text).to_absolute(num_rows)
    except ValueError as error:
        raise ConfigError(Problem(key, f"{shown(text)}: {error}")) from None
    return [Slice(each.splitname, each.from_, each.to) for each in absolute]


def _is_text(kind: Any) -> bool:
    return getattr(kind, "dtype", None) in ("string", "large_string")


class HubText:
    """Any text data set of the hub: a row of the data set is a document."""

    def __init__(self, config: HubCorpus) -> None:
        slices: dict[Split, str] = {"train": config.train, "validation": config.validation, "test": config.test}
        self._source = HubSource(config.id, config.config, config.revision, slices, config.column)
        self.label = self._source.label

    def check(self) -> None:
        """Its slices."""
        self._source.check()

    def evidence(self) -> Evidence | None:
        """That of the library's cache."""
        return self._source.evidence()

    def read(self, talk: Talk) -> Text:
        """Each value of the column as rows."""
        return {split: _Documents(column) for split, column in self._source.load(talk).items()}

    def caption(self, counts: TextCounts) -> str:
        """Id and config."""
        return self.label

    def details(self, counts: TextCounts) -> Details:
        """Id, config, revision and slices."""
        return self._source.details()


class _Documents:
    def __init__(self, values: Column) -> None:
        self._values = values

    def __iter__(self) -> Iterator[Row]:
        for value in self._values:
            yield from rows_of(value)


def _stamps(files: list[Path]) -> Evidence | None:
    """Path, size and time of each file; None where there is none."""
    stats = [(path, path.stat()) for path in files]
    return {str(path): [stat.st_size, stat.st_mtime_ns] for path, stat in stats} or None


def _explained(error: Exception, source: HubSource) -> ConfigError | RunError:
    """What to tell a user of an error of the library."""
    text = " ".join(str(error).split())
    if "BuilderConfig" in text or "Config name is missing" in text:
        available = re.search(r"\[.*\]", text)
        names = available[0] if available else text
        return ConfigError(
            Problem(source.config_key, f"{source.config!r} is not a config of {source.id}; it has {names}")
        )
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "RevisionNotFoundError" in kinds:
        return ConfigError(Problem("data.corpus.revision", f"{source.id} has no revision {source.revision!r}"))
    if kinds & {"HfUriError", "HFValidationError"}:
        return ConfigError(Problem("data.corpus.id", f"{source.id!r} is not the id of a data set (namespace/name)"))
    if kinds & {"DatasetNotFoundError", "RepositoryNotFoundError", "EntryNotFoundError"}:
        return ConfigError(Problem("data.corpus.id", f"no data set {source.id!r} at {endpoint()} that you may read"))
    if is_offline() or "LocalEntryNotFoundError" in text or "Couldn't reach" in text:
        return _out_of_reach(source)
    full = isinstance(error, OSError) and is_full(error)
    return RunError(
        "disk" if full else "download",
        f"{source.label} could not be had from {endpoint()}: {text[:300]}\n"
        "Start again: what is already there is kept. HF_ENDPOINT names a mirror.",
    )


def _out_of_reach(source: HubSource, revision: str = "") -> RunError:
    return RunError(
        "offline",
        f"{source.label} {revision}is not in the cache ({datasets_cache()}) and the hub is out of reach.\n"
        "Run once with a network (HF_ENDPOINT names a mirror), or copy a warm cache and set HF_HOME to it.",
    )
