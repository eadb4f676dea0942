"""Text files: UTF-8, plain or gzip, one a split or one cut into three."""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tiedlm.config.base import ConfigError, Problem
from tiedlm.data.config import SPLITS, Documents, TextCorpus
from tiedlm.data.corpus import Details, Evidence
from tiedlm.data.counting import TextCounts
from tiedlm.data.documents import Row, Text, mark_documents
from tiedlm.data.plain_text import refuse_equal, refuse_unless_plain
from tiedlm.paths import reason, user_path, working_folder
from tiedlm.talk import Talk

_GZIP = b"\x1f\x8b"
_WIDE = 3
"""Text is no UTF-8 where more than one byte in so many is NUL."""


@dataclass(frozen=True)
class TextFile:
    """One file and the config key that names it; read as UTF-8 whatever the locale, without BOM and CR LF."""

    key: str
    path: Path
    documents: Documents

    def unreadable(self, error: OSError) -> str:
        """Why it cannot be read; a run of earlier versions may have a relative path."""
        if self.path.is_absolute():
            return f"{self.path} cannot be read: {reason(error, self.path)}"
        path = working_folder() / self.path
        return f"{path} cannot be read: {reason(error, path)}; {self.path} is stored, relative to where you start"

    def sha256(self) -> str:
        """Of the file as it lies there."""
        with _readable(self), self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def __iter__(self) -> Iterator[Row]:
        """The rows; raises ConfigError where the file is not there, not UTF-8 or no whole gzip."""
        return mark_documents(self._lines(), self.documents)

    def _lines(self) -> Iterator[str]:
        offset, is_blank = 0, True
        for number, line in enumerate(self._raw_lines(), start=1):
            if is_blank:
                is_blank = line.isspace()
                self._refuse_wide(line)
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                place = f"byte {offset + error.start} (line {number})"
                raise ConfigError(Problem(self.key, f"{self.path} is not UTF-8 at {place}; convert it first")) from None
            offset += len(line)
            if number == 1:
                text = text.removeprefix("\ufeff")
                self._refuse_lone_returns(text)
            yield text.removesuffix("\r\n").removesuffix("\n") + "\n"

    def _refuse_wide(self, line: bytes) -> None:
        """Raise ConfigError where a line is of UTF-16 or UTF-32, as they are of Latin letters, without a BOM."""
        if line.count(0) * _WIDE > len(line):
            message = f"{self.path} is no UTF-8 text: it looks like UTF-16 or UTF-32 (NUL bytes); convert it first"
            raise ConfigError(Problem(self.key, message))

    def _refuse_lone_returns(self, first: str) -> None:
        """Raise ConfigError where the first line is all of a text whose lines end in CR."""
        if "\n" not in first and "\r" in first:
            message = f"{self.path} has CR alone at its ends of lines, and would be one line; convert them to LF first"
            raise ConfigError(Problem(self.key, f"{message} (tr '\\r' '\\n' < OLD > NEW)"))

    def _raw_lines(self) -> Iterator[bytes]:
        with _readable(self), self.path.open("rb") as plain:
            packed = plain.read(2) == _GZIP
            plain.seek(0)
            yield from gzip.GzipFile(fileobj=plain) if packed else plain


@dataclass(frozen=True)
class _Cut:
    """Documents `begin` to `end` of a file."""

    file: TextFile
    begin: int
    end: int

    def __iter__(self) -> Iterator[Row]:
        number = -1
        for row in self.file:
            number += row.starts_document
            if number >= self.end:
                return
            if number >= self.begin:
                yield row


class TextFiles:
    """Three files, or one whose documents are cut by fractions, in their order."""

    def __init__(self, config: TextCorpus) -> None:
        self._fractions = config.fractions
        named = {name: getattr(config, name) for name in ("file", *SPLITS)}
        self._files = {
            name: TextFile(f"data.corpus.{name}", user_path(path, f"data.corpus.{name}"), config.documents)
            for name, path in named.items()
            if path is not None
        }
        self._hashes: dict[str, str] = {}
        self.label = ", ".join(file.path.name for file in self._files.values())

    def check(self) -> None:
        """Raise ConfigError where a file cannot be read or is no plain text, or two splits have one text."""
        for file in self._files.values():
            with _readable(file):
                refuse_unless_plain(file.key, file.path)
                file.path.open("rb").close()
        refuse_equal({file.key: file.path for file in self._files.values()})

    def evidence(self) -> Evidence:
        """The hash of each file."""
        self._hashes = {name: file.sha256() for name, file in self._files.items()}
        return dict(self._hashes)

    def read(self, talk: Talk) -> Text:
        """Each split's file, or its share of the one."""
        if "file" in self._files:
            return self._cut(self._files["file"])
        return {split: self._files[split] for split in SPLITS}

    def _cut(self, file: TextFile) -> Text:
        """At least one document for each split; validation and test as near to their fraction as whole ones get."""
        num_documents, is_blank = 0, True
        for row in file:
            num_documents += row.starts_document
            is_blank = is_blank and row.text.isspace()
        if is_blank:
            raise ConfigError(Problem(file.key, f"{file.path} holds no text"))
        if num_documents < len(SPLITS):
            raise ConfigError(Problem(file.key, _too_few(file, num_documents)))
        validation, test = (max(1, round(share * num_documents)) for share in self._fractions[1:])
        begin_validation = max(1, num_documents - validation - test)
        begin_test = min(begin_validation + validation, num_documents - 1)
        cuts = (0, begin_validation, begin_test, num_documents)
        return {split: _Cut(file, cuts[index], cuts[index + 1]) for index, split in enumerate(SPLITS)}

    def caption(self, counts: TextCounts) -> str:
        """The names of the files."""
        return f"own text ({self.label})"

    def details(self, counts: TextCounts) -> Details:
        """Name and hash of each file."""
        hashes = self._hashes or self.evidence()
        return {name: f"{file.path.name} sha256:{hashes[name]}" for name, file in self._files.items()}


def _too_few(file: TextFile, num_documents: int) -> str:
    counted = "1 document" if num_documents == 1 else f"{num_documents} documents"
    way_out = "" if file.documents == "lines" else "; see data.corpus.documents, which may be lines"
    return f"{file.path} has {counted} ({file.documents}); three splits need at least 3{way_out}"


@contextmanager
def _readable(file: TextFile) -> Iterator[None]:
    """Say of a file that cannot be read which key names it, where it was looked for and why."""
    try:
        if file.path.exists() and not (file.path.is_file() or file.path.is_dir()):  # a pipe or device might never end
            raise ConfigError(Problem(file.key, f"{file.path} is no ordinary file"))
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ConfigError(Problem(file.key, f"{file.path} is no whole gzip file: {error}")) from None
    except OSError as error:
        raise ConfigError(Problem(file.key, file.unreadable(error))) from None
