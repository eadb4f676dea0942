"""The prepared text of several runs. Free of torch, and of numpy until a text is asked for."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tiedlm.data.config import DataConfig
from tiedlm.talk import Talk

if TYPE_CHECKING:
    from tiedlm.data.prepared import PreparedData


class RunTexts:
    """Opens each text once for all runs, and compares its files with their hashes before every run."""

    def __init__(self, cache_dir: Path) -> None:
        self.cache_dir = cache_dir
        self._opened: dict[str, PreparedData] = {}
        self.notes_said: set[str] = set()

    def for_run(self, config: DataConfig, talk: Talk) -> "tuple[PreparedData, Sequence[str]]":
        """The text of the run that is about to start, whole, and what is to be known of it.

        It is prepared where it is not in the cache (any more, or as it was). Raises as `prepare` does.
        """
        from tiedlm.data.prepare import check_prepared, prepare

        key = config.model_dump_json()
        data = self._opened.get(key)
        meta = check_prepared(config, self.cache_dir) if data is not None else None
        if data is not None and meta is not None and meta.tokens_sha256 == data.tokens_sha256:
            return data, meta.notes
        self._opened[key] = prepare(config, self.cache_dir, talk, verify=True)
        return self._opened[key], self._opened[key].notes
