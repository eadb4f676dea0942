"""Whether a run that is about to train can stand beside those of its experiment that are there. Free of torch."""

from collections.abc import Sequence
from importlib import metadata

from tiedlm.config.base import ConfigError, Problem
from tiedlm.data.identity import DataRecord
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run

_WAY_OUT = "their figures could not be put together; compare --fresh trains all of them again, another name keeps them"


def check_joins(run: Run, others: Sequence[Run], record: DataRecord) -> None:
    """Raise ConfigError, before anything trains, where the text or torch is not that of a run that is there.

    `record` is the text of `run`. It must be that of every run whose config asks for the same; torch, in the version
    that is installed, must be that of the finished seeds of the same variant.
    """
    for other in others:
        folder = RunFolder(other.directory)
        if other.directory == run.directory or not folder.config_file.is_file():
            continue
        stored = folder.data_record() if other.config.data == run.config.data else None
        difference = stored and stored.difference_from(record)
        if difference:
            raise ConfigError(Problem("data", f"{difference} is not what {folder.path} was made with: {_WAY_OUT}"))
        if other.config.variant == run.config.variant:
            _check_torch(folder)


def _check_torch(folder: RunFolder) -> None:
    result = folder.result()
    before, now = result and result.versions.get("torch"), metadata.version("torch")
    if before is not None and before != now:
        message = f"{folder.path} was trained with {before}, installed is {now}: {_WAY_OUT}"
        raise ConfigError(Problem("torch version", message))
