"""The embedded corpus: the English that every CPython carries, in its help topics and docstrings."""

import ast
import hashlib
import os
import platform
import sys
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

from tiedlm.data.config import SPLITS, Split
from tiedlm.data.corpus import Details, Evidence
from tiedlm.data.counting import TextCounts
from tiedlm.data.documents import Text, rows_of
from tiedlm.errors import RunError
from tiedlm.talk import Talk

CAPTION = "the embedded corpus, not WikiText-103"
HELD_OUT = 0.08
"""The share of bytes that validation and test may each have."""
REPEATED = 0.01
"""A package is held out only while at most this share of its runs of 8 words stands in other packages too."""
_NOT_READ = {"__pycache__", "site-packages", "dist-packages", "test", "tests", "idle_test"}
_TOPICS = "pydoc_data.topics"

Documents = dict[str, str]
"""The text of each document by its name: the path of a source file, or topics/NAME."""


class PythonDocs:
    """Help topics and docstrings of the standard library that runs this program, read as text, never imported."""

    label = "the documentation of Python " + platform.python_version()

    def check(self) -> None:
        """Nothing: its splits are packages, held out where they repeat little of others."""

    def evidence(self) -> Evidence:
        """The interpreter, and name, size and time of every source file."""
        root = _standard_library()
        stats = [(name, (root / name).stat()) for name in _source_files(root)]
        files = "\n".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in stats)
        return {**interpreter(), "folder": str(root), "files": hashlib.sha256(files.encode()).hexdigest()}

    def read(self, talk: Talk) -> Text:
        """All documents, dealt to the splits by top-level package."""
        documents = {**_topics(), **_docstrings(_standard_library())}
        if not documents:
            raise RunError("corpus", f"Python at {sys.prefix} carries no documentation; choose another data.corpus")
        return _split(documents)

    def caption(self, counts: TextCounts) -> str:
        """The same for every Python: the details say which."""
        return CAPTION

    def details(self, counts: TextCounts) -> Details:
        """Which Python: the text differs between versions and builds."""
        return {"source": "help topics and docstrings of the standard library", **interpreter()}


def interpreter() -> dict[str, str]:
    """Which Python runs this program."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "build": " ".join(platform.python_build()),
    }


def _standard_library() -> Path:
    return Path(sysconfig.get_path("stdlib"))


def _source_files(root: Path) -> list[str]:
    """The Python files under `root` without tests and installed packages, relative, in one fixed order."""
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _NOT_READ]
        found += [Path(folder, name).relative_to(root).as_posix() for name in files if name.endswith(".py")]
    return sorted(found)


def _topics() -> Documents:
    try:
        from pydoc_data.topics import topics
    except ImportError:  # some distributions leave it out
        return {}
    return {f"topics/{name}": text.strip("\n") for name, text in sorted(topics.items())}


def _docstrings(root: Path) -> Documents:
    """The docstrings of each source file; one that stood in an earlier file or place is left out."""
    seen: set[str] = set()
    documents: Documents = {}
    for name in _source_files(root):
        fresh = []
        for docstring in _docstrings_in((root / name).read_bytes()):
            if docstring and docstring not in seen:
                seen.add(docstring)
                fresh.append(docstring)
        if fresh:
            documents[name] = "\n\n".join(fresh)
    return documents


def _docstrings_in(source: bytes) -> Iterator[str]:
    """The docstrings of one file from top to bottom, without their indentation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the library's own escapes
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):  # a template, or bytes that are no Python of this version
            return
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield _printable(ast.get_docstring(node) or "")
        waiting += [child for child in reversed(list(ast.iter_child_nodes(node))) if isinstance(child, ast.stmt)]


def _printable(docstring: str) -> str:
    """The text as UTF-8 can carry it: a docstring may spell half of a surrogate pair."""
    lines = docstring.encode("utf-8", "replace").decode().splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def _split(documents: Documents) -> Text:
    """Documents in the order of their names, dealt by package so that held-out text is not a copy of train text.

    Packages come in an order that depends on their names alone (by hash), so that each split is a mixture. Each goes
    to the first of test and validation that has room for it, else to train; to train in any case where other packages
    repeat its text. A package larger than a held-out split, as the help topics are, is always train.
    """
    sizes: dict[str, int] = {}
    for name, text in documents.items():
        sizes[_package(name)] = sizes.get(_package(name), 0) + len(text.encode())
    repeated = _repeated(documents)
    allowance = HELD_OUT * sum(sizes.values())
    room: dict[Split, float] = {"test": allowance, "validation": allowance}
    split_of: dict[str, Split] = {}
    for package in sorted(sizes, key=lambda name: hashlib.sha256(name.encode()).digest()):
        fits = (split for split, left in room.items() if sizes[package] <= left)
        split_of[package] = "train" if repeated[package] > REPEATED else next(fits, "train")
        if split_of[package] != "train":
            room[split_of[package]] -= sizes[package]
    names = {split: [name for name in sorted(documents) if split_of[_package(name)] == split] for split in SPLITS}
    return {split: [row for name in names[split] for row in rows_of(documents[name])] for split in SPLITS}


def _package(document: str) -> str:
    """The package of a document; one spelling for `decimal`, `_decimal` and `_pydecimal`, which copy each other."""
    top = document.partition("/")[0].removesuffix(".py")
    return top.removeprefix("_py").lstrip("_") or top


def _repeated(documents: Documents) -> dict[str, float]:
    """The share of each package's runs of 8 words that stand in another package too."""
    owner: dict[tuple[str, ...], str] = {}
    shared: set[tuple[str, ...]] = set()
    runs: dict[str, list[tuple[str, ...]]] = {_package(name): [] for name in documents}
    for name, text in documents.items():
        package, words = _package(name), text.split()
        for run in zip(*(words[shift:] for shift in range(8)), strict=False):
            runs[package].append(run)
            if owner.setdefault(run, package) != package:
                shared.add(run)
    return {package: sum(run in shared for run in own) / max(1, len(own)) for package, own in runs.items()}
