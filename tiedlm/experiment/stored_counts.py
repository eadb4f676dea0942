"""Parameter counts of runs, each kept once it was counted, so that a plan is made without torch from then on.

Free of torch until something new must be counted, and of numpy until V must be known.
"""

import hashlib
import json
from contextlib import suppress
from functools import cache
from pathlib import Path

from pydantic import ValidationError

import tiedlm
from tiedlm.config.base import Config
from tiedlm.errors import RunError
from tiedlm.files import write_atomic
from tiedlm.forecast.vocabulary import find_tokens, vocab_size_of
from tiedlm.model.counts import ParameterCounts
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import to_json
from tiedlm.talk import Talk

FILE = "counts.json"
_SOURCES = ("tying", "model")
"""What a count follows from besides the config and V."""


class Known(Config):
    """What is kept: counts by what was counted, and V by the data it came from."""

    counts: dict[str, ParameterCounts] = {}  # noqa: RUF012 (a frozen model)
    vocab_sizes: dict[str, int] = {}  # noqa: RUF012


class KnownCounts:
    """Counts the models of an experiment's runs; what was counted before is read from its folder.

    V is that of the text as it is prepared. Where that is not there, it is what V was before; else the text is prepared
    where there is `talk`, and else V is what the config lets expect (see `vocab_size_of`).
    """

    def __init__(self, experiment_dir: Path, cache_dir: Path, talk: Talk | None = None) -> None:
        self._file, self._cache_dir, self._talk = experiment_dir / FILE, cache_dir, talk
        self._before = _read(self._file)
        self._counts = dict(self._before.counts)
        self._vocab_sizes: dict[str, int] = {}

    def __call__(self, config: RunConfig) -> ParameterCounts:
        """What the model of a run comes to; raises ConfigError where its V cannot be known yet."""
        vocab_size = self._vocab_size(config)
        question = [_sources(), config.model.model_dump(mode="json"), vocab_size, config.max_seq_len]
        key = _digest([*question, config.data.seq_len])
        if key not in self._counts:
            from tiedlm.forecast.counts import count_model

            self._counts[key] = count_model(config.model, vocab_size, config.max_seq_len, config.data.seq_len)
        return self._counts[key]

    def keep(self) -> None:
        """Write down what was not known before, where there is `talk`: what is only foreseen leaves nothing behind.

        In a folder that cannot be written to it is found anew each time.
        """
        if self._talk is None:
            return
        known = Known(counts=self._counts, vocab_sizes=self._before.vocab_sizes | self._vocab_sizes)
        if known != self._before:
            with suppress(RunError):
                write_atomic(self._file, to_json(known.model_dump(mode="json")))

    def _vocab_size(self, config: RunConfig) -> int:
        if config.model.vocab_size is not None:
            return config.model.vocab_size
        key = _digest(config.data.model_dump(mode="json"))
        if key not in self._vocab_sizes:
            self._vocab_sizes[key] = self._find_vocab_size(config, self._before.vocab_sizes.get(key))
        return self._vocab_sizes[key]

    def _find_vocab_size(self, config: RunConfig, before: int | None) -> int:
        if find_tokens(config.data, self._cache_dir) is None:
            if before is not None:
                return before
            if self._talk is not None:
                from tiedlm.data.prepare import prepare

                return prepare(config.data, self._cache_dir, self._talk).vocab_size
        return vocab_size_of(config.model, config.data, self._cache_dir)


@cache
def _sources() -> str:
    here = Path(tiedlm.__file__).parent
    files = [file for name in _SOURCES for file in sorted((here / name).rglob("*.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _digest(question: object) -> str:
    return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()


def _read(file: Path) -> Known:
    """What was kept; nothing where that cannot be read, for it can be found again."""
    try:
        return Known.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return Known()
