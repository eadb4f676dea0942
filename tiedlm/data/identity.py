"""Which text and which tokenizer a run was made with, by content and not by path. Free of torch and numpy."""

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tiedlm.config.base import Config, ConfigError
from tiedlm.data.config import SPLITS, DataConfig, FileTokenizer, PythonDocsCorpus, TextCorpus
from tiedlm.data.corpus import Details
from tiedlm.paths import may_be_same
from tiedlm.talk import SILENT

_SHA256 = "sha256:"
_TOKENIZER = "data.tokenizer.path"


class DataRecord(Config):
    """The text and the tokenizer of a run.

    `corpus` and `tokens` are the SHA-256 that a result has too, `details` names the source of the text with the hash of
    each of its files, `tokenizer` holds the SHA-256 of each file that the tokenizer is made of.
    """

    corpus: str
    tokens: str
    details: Details
    tokenizer: dict[str, str]

    def difference_from(self, other: "DataRecord") -> str | None:
        """What differs, in words; None where both are the same tokens of the same text."""
        if self.corpus != other.corpus:
            return "the text"
        return "the tokens of the text" if self.tokens != other.tokens else None


class Difference(NamedTuple):
    """The key of a text or tokenizer that is not the one of a run, and what is wrong with it."""

    key: str
    message: str


def difference_in_content(
    run: str, made_with: DataConfig, now: DataConfig, record: DataRecord | None
) -> Difference | None:
    """Where the text or the tokenizer file that `now` names is not what a run was made with; None where it is.

    `record` is what that run stored; None where it stored nothing, and then paths alone can be compared. A file that is
    not there any more is no difference as long as its path is the same. What a hub serves is not asked for here.
    `run` is what the message calls the run.
    """
    before, paths, known = named_files(made_with), named_files(now), _known_hashes(now, record)
    differences: list[Difference] = []
    for key in dict.fromkeys([*before, *paths]):
        message = _difference_of_file(before.get(key), paths.get(key), known.get(key))
        if message is not None:
            differences.append(Difference(key, f"{run} was made with {message}"))
    if isinstance(now.corpus, PythonDocsCorpus):
        differences += _difference_in_python(run, record)
    of_text = [each for each in differences if each.key != _TOKENIZER]
    if of_text and record is not None and _is_same_text(now, record):  # gzip or plain, one file or three
        differences = [each for each in differences if each.key == _TOKENIZER]
    return differences[0] if differences else None


def sha256_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def named_files(config: DataConfig) -> dict[str, Path]:
    """The files that a config names, by dotted key."""
    paths = {}
    if isinstance(config.corpus, TextCorpus):
        given = {name: getattr(config.corpus, name) for name in ("file", *SPLITS)}
        paths = {f"data.corpus.{name}": path for name, path in given.items() if path is not None}
    if isinstance(config.tokenizer, FileTokenizer):
        paths[_TOKENIZER] = config.tokenizer.path
    return {key: Path(path).expanduser() for key, path in paths.items()}


def _difference_of_file(before: Path | None, now: Path | None, known: str | None) -> str | None:
    """What a run was made with and what a key names now, where that is not the same; `known` is the hash at that time.

    Without the hash, and where the file cannot be read, one path is one file.
    """
    found = _readable_sha256(now) if known and now else None
    is_same_path = before is not None and now is not None and may_be_same(str(before), str(now))
    if found is not None:
        if found == known:
            return None
        return f"{now} as it was before it changed" if is_same_path else f"{before}; {now} holds something else"
    if is_same_path:
        return None
    cannot_tell = " is not there to be compared" if now and known else " is another file"
    return f"{before or 'other files'}; {now}{cannot_tell}" if now else f"{before}, which is not named any more"


def _readable_sha256(path: Path) -> str | None:
    try:
        stat = path.stat()
        return _sha256_as_it_lies(path, stat.st_size, stat.st_mtime_ns, stat.st_ino) if path.is_file() else None
    except OSError:
        return None


@cache
def _sha256_as_it_lies(path: Path, size: int, mtime_ns: int, inode: int) -> str:
    """Once for all runs of an experiment, as long as the file stays as it is."""
    return sha256_of(path)


def _known_hashes(config: DataConfig, record: DataRecord | None) -> dict[str, str]:
    """SHA-256 of files as a run found them, by the key that names them."""
    if record is None:
        return {}
    known = {
        f"data.corpus.{name}": text.rpartition(_SHA256)[2]
        for name, text in record.details.items()
        if isinstance(text, str) and _SHA256 in text
    }
    if isinstance(config.tokenizer, FileTokenizer) and record.tokenizer:
        (known[_TOKENIZER],) = record.tokenizer.values()
    return known


def _difference_in_python(run: str, record: DataRecord | None) -> Iterator[Difference]:
    """Where another Python gives its documentation, which may be another text."""
    from tiedlm.data.python_docs import interpreter  # what reads texts is not needed to print what is finished

    now = interpreter()
    before = {key: record.details[key] for key in now if key in record.details} if record else {}
    if before and before != now:
        names = [" ".join(map(str, each.values())) for each in (before, now)]
        message = f"{run} was made with the documentation of Python {names[0]}; this is {names[1]}"
        yield Difference("data.corpus", message)


def _is_same_text(config: DataConfig, record: DataRecord) -> bool:
    """Whether the text that a config names now, read from one end to the other, is that of a run."""
    try:
        stats = [path.stat() for key, path in named_files(config).items() if key != _TOKENIZER]
        stamps = tuple((stat.st_size, stat.st_mtime_ns, stat.st_ino) for stat in stats)
        return _sha256_of_text(config.model_dump_json(), stamps) == record.corpus
    except (ConfigError, OSError):  # no text any more
        return False


@cache
def _sha256_of_text(config: str, stamps: tuple[tuple[int, int, int], ...]) -> str:
    """That of all splits, once for all runs of an experiment as long as the files, by their `stamps`, stay as they are.

    Raises ConfigError.
    """
    from tiedlm.data.counting import count_text
    from tiedlm.data.open_corpus import open_corpus

    return count_text(open_corpus(DataConfig.model_validate_json(config).corpus).read(SILENT)).sha256
