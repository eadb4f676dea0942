"""The tokenizer that lies in a run's folder, and the run's text cut with it again."""

from pathlib import Path

from tiedlm.data.build_tokenizer import load_tokenizer
from tiedlm.data.config import DataConfig, FileTokenizer
from tiedlm.data.identity import DataRecord, sha256_of
from tiedlm.data.prepare import PreparedData, find_prepared, reopen
from tiedlm.data.tokenizer import Tokenizer
from tiedlm.data.tokenizer_files import TOKENIZER_JSON
from tiedlm.errors import RunError
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder
from tiedlm.talk import Talk


def stored_tokenizer(folder: RunFolder, config: RunConfig) -> Tokenizer | None:
    """The tokenizer of a run, from its folder alone; None where an older version of the program stored none there.

    Raises RunError("corrupt") where a file is not as it was stored.
    """
    record = _record_with_files(folder)
    return None if record is None else load_tokenizer(config.data.tokenizer, folder.path)


def prepare_again(folder: RunFolder, config: RunConfig, cache_dir: Path, talk: Talk) -> PreparedData:
    """The text of a run as it was cut for its training; nothing is needed for it but the text.

    Raises ConfigError, RunError.
    """
    record = _record_with_files(folder)
    if record is None:
        return reopen(config.data, cache_dir, talk, verify=True)
    data = _with_stored_file(config.data, folder)
    found = find_prepared(data, cache_dir, verify=True)
    if found is not None and found.tokens_sha256 == record.tokens:
        return found
    return reopen(data, cache_dir, talk, verify=True, tokenizer_dir=folder.path)


def _with_stored_file(data: DataConfig, folder: RunFolder) -> DataConfig:
    """With the tokenizer file in the run's folder in the place of the one that the config names."""
    if not isinstance(data.tokenizer, FileTokenizer):
        return data
    path = str((folder.path / TOKENIZER_JSON).absolute())
    return data.model_copy(update={"tokenizer": data.tokenizer.model_copy(update={"path": path})})


def _record_with_files(folder: RunFolder) -> DataRecord | None:
    """What a run stored of its data, with the files of its tokenizer there and whole; None where they are not there."""
    record = folder.data_record() if folder.data_file.is_file() else None
    if record is None or not all((folder.path / name).is_file() for name in record.tokenizer):
        return None
    for name, sha256 in record.tokenizer.items():
        path = folder.path / name
        if sha256_of(path) != sha256:
            raise RunError("corrupt", f"{path} is not what the run was trained with; without it the text is read again")
    return record
