"""Parameter counts of an experiment's models, kept once they were made: a plan is made without torch from then on.

Free of torch until something new must be counted, and of numpy until V must be known.
"""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from tiedlm.config.base import Config
from tiedlm.data.config import DataConfig
from tiedlm.data.identity import named_files, sha256_of
from tiedlm.errors import RunError
from tiedlm.files import write_atomic
from tiedlm.forecast.sources import sources_sha256
from tiedlm.forecast.vocabulary import find_tokens, forecast_vocab_size
from tiedlm.model.counts import ParameterCounts
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import to_json
from tiedlm.run.layout import Layout
from tiedlm.talk import Talk


class StoredCounts(Config):
    """The file: counts by what was counted, and V by the data config it came from.

    `contents` says of each such config what its files held; where an older version stored V without it, V counts only
    while the files are not there.
    """

    counts: dict[str, ParameterCounts] = {}  # noqa: RUF012 (a frozen model)
    vocab_sizes: dict[str, int] = {}  # noqa: RUF012
    contents: dict[str, str] = {}  # noqa: RUF012


class CountsCache:
    """Counts the models of an experiment's runs; what was counted before is read from its folder.

    V is that of the prepared text. Where the text is not prepared, it is the V that was stored before; else the text is
    prepared where there is `talk`, and without `talk` V is what the config lets expect (see `forecast_vocab_size`).
    """

    def __init__(self, layout: Layout, cache_dir: Path, talk: Talk | None = None) -> None:
        self._file, self._cache_dir, self._talk = layout.counts_file, cache_dir, talk
        self._stored = _read(self._file)
        self._counts = dict(self._stored.counts)
        self._vocab_sizes: dict[str, int] = {}
        self._contents: dict[str, str] = {}

    def __call__(self, config: RunConfig) -> ParameterCounts:
        """The counts of a run's model; raises ConfigError where its V cannot be known yet."""
        vocab_size = self._vocab_size(config)
        sizes = [vocab_size, config.max_seq_len, config.data.seq_len]
        key = _digest([sources_sha256(), config.model.model_dump(mode="json"), *sizes])
        if key not in self._counts:
            from tiedlm.forecast.counts import count_model

            self._counts[key] = count_model(config.model, vocab_size, config.max_seq_len, config.data.seq_len)
        return self._counts[key]

    def keep(self) -> None:
        """Store what is new, where there is `talk`: a dry run leaves nothing behind.

        In a folder that cannot be written to it is counted anew each time.
        """
        if self._talk is None:
            return
        counts = StoredCounts(
            counts=self._counts,
            vocab_sizes=self._stored.vocab_sizes | self._vocab_sizes,
            contents=self._stored.contents | self._contents,
        )
        if counts != self._stored:
            with suppress(RunError):
                write_atomic(self._file, to_json(counts.model_dump(mode="json")))

    def _vocab_size(self, config: RunConfig) -> int:
        if config.model.vocab_size is not None:
            return config.model.vocab_size
        key = _digest(config.data.model_dump(mode="json"))
        if key not in self._vocab_sizes:
            content = _content_of(config.data)
            is_known = content is None or content == self._stored.contents.get(key)
            stored = self._stored.vocab_sizes.get(key) if is_known else None
            self._vocab_sizes[key] = self._find_vocab_size(config, stored)
            if content is not None:
                self._contents[key] = content
        return self._vocab_sizes[key]

    def _find_vocab_size(self, config: RunConfig, stored: int | None) -> int:
        if find_tokens(config.data, self._cache_dir) is None:
            if stored is not None:
                return stored
            if self._talk is not None:
                from tiedlm.data.prepare import prepare

                return prepare(config.data, self._cache_dir, self._talk).vocab_size
        return forecast_vocab_size(config.model, config.data, self._cache_dir)


def _content_of(data: DataConfig) -> str | None:
    """The hash of what lies in the files that a config names; None where it names none, or one is not there."""
    files = named_files(data)
    if not files or not all(path.is_file() for path in files.values()):
        return None
    return _digest({key: sha256_of(path) for key, path in files.items()})


def _digest(key: object) -> str:
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()


def _read(file: Path) -> StoredCounts:
    """What was stored; nothing where that cannot be read, for it can be counted again."""
    try:
        return StoredCounts.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return StoredCounts()
