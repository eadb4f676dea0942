"""Text data sets of the Hugging Face hub, through the `datasets` library and its own cache."""

import errno
import os
import re
import ssl
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiedlm.config import ConfigError, Problem
from tiedlm.data.config import SPLITS, HubCorpus, Split
from tiedlm.data.corpus import Details, Evidence
from tiedlm.data.counting import TextCounts
from tiedlm.data.documents import Row, Text, rows_of
from tiedlm.errors import RunError
from tiedlm.talk import Talk

_REACHABLE_WITHIN = 5.0
"""Seconds that the hub may take for its first answer; the library alone would try for 23."""
_BATCH = 1000
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

    def evidence(self) -> Evidence | None:
        """The library's cached files of a commit; a branch, or no revision, says nothing until it is loaded."""
        if self._commit is None:
            return None
        return _stamps(sorted(_datasets_cache().glob(f"*/{self.config or '*'}/*/{self._commit}/*.arrow")))

    def details(self) -> Details:
        """What `load_dataset` needs to get the same text."""
        own: Details = {split: text for split, text in self.slices.items() if text != split}
        return {"source": self.id, "config": self.config, "revision": self._commit or self.revision, **own}

    def load(self, talk: Talk) -> dict[Split, "Column"]:
        """Download what the cache lacks. Raises ConfigError, or RunError where neither hub nor cache has it."""
        _prepare_library(talk)
        import datasets

        whole = self._load_dataset(datasets)
        folders = {Path(file["filename"]).parent.name for part in whole.values() for file in part.cache_files}
        loaded = next((name for name in folders if re.fullmatch(_COMMIT, name)), self._commit)
        if self._commit not in (None, loaded):  # offline, the library takes whichever revision its cache has
            raise _out_of_reach(self, f"revision {self._commit} ")
        self._commit = loaded
        return {split: self._column(datasets, whole, split) for split in SPLITS}

    def _load_dataset(self, datasets: Any, split: str | None = None, key: str = "") -> Any:
        try:
            return datasets.load_dataset(self.id, self.config, revision=self.revision, split=split)
        except Exception as error:  # the library, its transports and Arrow have no common base
            if split and isinstance(error, ValueError):
                raise ConfigError(Problem(key, f"{split!r}: {error}")) from None
            raise _explained(error, self) from error

    def _column(self, datasets: Any, whole: Any, split: Split) -> "Column":
        wanted, key = self.slices[split], f"data.corpus.{split}"
        name = wanted.partition("[")[0]
        if name not in whole:
            raise ConfigError(Problem(key, f"{wanted!r}: {self.id} has no split {name}; it has {', '.join(whole)}"))
        part = whole[name] if wanted == name else self._load_dataset(datasets, wanted, key)
        texts = [column for column, kind in part.features.items() if _is_text(kind)]
        if self.column not in texts:
            message = f"{self.column!r} is no text column of {self.id}; text columns: {', '.join(texts) or 'none'}"
            raise ConfigError(Problem("data.corpus.column", message))
        return Column(part.select_columns([self.column]).with_format("arrow"), self.column)


class Column:
    """The values of a text column, from the library's memory map; missing values are left out."""

    def __init__(self, dataset: Any, name: str) -> None:
        self._dataset = dataset
        self._name = name

    def __iter__(self) -> Iterator[str]:
        for table in self._dataset.iter(_BATCH):
            yield from (value for value in table[self._name].to_pylist() if value is not None)


def _is_text(kind: Any) -> bool:
    return getattr(kind, "dtype", None) in ("string", "large_string")


class HubText:
    """Any text data set of the hub: a row of the data set is a document."""

    def __init__(self, config: HubCorpus) -> None:
        slices: dict[Split, str] = {"train": config.train, "validation": config.validation, "test": config.test}
        self._source = HubSource(config.id, config.config, config.revision, slices, config.column)
        self.label = self._source.label

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


def _datasets_cache() -> Path:
    """Where `datasets` keeps its Arrow files, without importing it (which takes longer than a warm start may)."""
    environment = os.environ
    home = environment.get("HF_HOME") or Path(environment.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return Path(environment.get("HF_DATASETS_CACHE") or Path(home, "datasets")).expanduser()


def _prepare_library(talk: Talk) -> None:
    """Say to the library, before it is imported, what it reads from the environment only then."""
    environment = os.environ
    environment.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    environment.setdefault("HF_HUB_VERBOSITY", "error")
    environment.setdefault("DATASETS_VERBOSITY", "error")
    if not sys.stderr.isatty():
        environment.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        environment.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    if not _is_offline() and not _is_reachable(_endpoint()):
        talk.say(f"{_endpoint()} cannot be reached; looking in the cache")
        environment["HF_HUB_OFFLINE"] = "1"


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT") or "https://huggingface.co"


def _is_offline() -> bool:
    switches = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
    return any(os.environ.get(name, "").upper() in {"1", "ON", "YES", "TRUE"} for name in switches)


def _is_reachable(endpoint: str) -> bool:
    """Whether anything answers there at all, through the proxy that the environment names."""
    request = urllib.request.Request(endpoint, method="HEAD")
    try:
        urllib.request.urlopen(request, timeout=_REACHABLE_WITHIN).close()
    except urllib.error.HTTPError:
        return True  # an answer, if not a kind one
    except urllib.error.URLError as error:
        return isinstance(error.reason, ssl.SSLError)  # the library may know more certificates
    except (OSError, ValueError):
        return False
    return True


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
        return ConfigError(Problem("data.corpus.id", f"no data set {source.id!r} at {_endpoint()} that you may read"))
    if _is_offline() or "LocalEntryNotFoundError" in text or "Couldn't reach" in text:
        return _out_of_reach(source)
    full = isinstance(error, OSError) and error.errno == errno.ENOSPC
    return RunError(
        "disk" if full else "download",
        f"{source.label} could not be had from {_endpoint()}: {text[:300]}\n"
        "Start again: what is already there is kept. HF_ENDPOINT names a mirror.",
    )


def _out_of_reach(source: HubSource, revision: str = "") -> RunError:
    return RunError(
        "offline",
        f"{source.label} {revision}is not in the cache ({_datasets_cache()}) and the hub is out of reach.\n"
        "Run once with a network (HF_ENDPOINT names a mirror), or copy a warm cache and set HF_HOME to it.",
    )
