"""What a config file is for, and copies of it to be changed. Free of torch."""

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tiedlm.config.file import read_text
from tiedlm.config.find import SCHEMA_FILE, find_config, find_packaged, is_there, packaged_schema
from tiedlm.config.yaml_core import load_yaml
from tiedlm.errors import ConfigError, Problem
from tiedlm.files import write_atomic
from tiedlm.paths import check_file

_NAME_LINE = re.compile(r"^name:[^\n#]*(?<! )", re.MULTILINE)
_EDITOR_LINE = re.compile(rf"\A# yaml-language-server: \$schema=\S*{re.escape(SCHEMA_FILE)}$", re.MULTILINE)
"""The first line of a config that tells an editor where the schema is, relative to the file."""


@dataclass(frozen=True)
class Copied:
    """The configs that were written, that which was asked for first, and the schema files that lie beside them."""

    configs: list[Path]
    schemas: list[Path]


def purpose(path: Path) -> str:
    """What a config is for: the comment at its top, up to the first line that ends a sentence."""
    said: list[str] = []
    for line in _EDITOR_LINE.sub("", read_text(path)).lstrip("\n").splitlines():
        if not line.startswith("#") or (said and said[-1].endswith(".")):
            break
        said.append(line.removeprefix("#").strip())
    return " ".join(said)


def copy_config(name: str, destination: str | Path) -> Copied:
    """Copy a config to a file, or into a folder, with those that it extends beside it, and the schema for editors.

    A destination that ends in / is a folder, which is made where it is not there. Under another file name it is
    another experiment, and named so: two that differ must not share their run folders.
    Raises ConfigError where a file is there already or what it extends lies outside its own folder.
    """
    source = find_config(name)
    is_folder = str(destination).endswith(("/", os.sep)) or Path(destination).is_dir()
    target = Path(destination) / source.name if is_folder else Path(destination)
    copies: dict[Path, str] = {}
    while True:
        copies[target] = read_text(source)
        parent = read_extends(source)
        if parent is None:
            break
        if target.parent / parent in copies:
            raise ConfigError(Problem("extends", "goes in a circle"), source=str(source))
        if not (source.parent / parent).resolve().is_relative_to(source.parent.resolve()):
            raise ConfigError(Problem("extends", f"{parent} lies outside its folder; copy by hand"), source=str(source))
        source, target = source.parent / parent, target.parent / parent
    first = next(iter(copies))
    if first.stem != find_config(name).stem:
        copies[first] = _NAME_LINE.sub(f"name: {first.stem}", copies[first], count=1)
    schemas = _schemas_beside([path for path, text in copies.items() if _EDITOR_LINE.match(text)])
    line = f"# yaml-language-server: $schema={SCHEMA_FILE}"
    copies = {path: _EDITOR_LINE.sub(line, text) for path, text in copies.items()}
    _keep_what_is_there(copies, first)
    for path, text in copies.items():
        write_atomic(path, text)
    for path in schemas:
        write_atomic(path, read_text(packaged_schema()))
    return Copied(list(copies), schemas)


def _keep_what_is_there(copies: dict[Path, str], first: Path) -> None:
    """Raise ConfigError where a file would be overwritten; what is extended may be there as it would be written."""
    for path, text in list(copies.items()):
        check_file(path)
        if is_there(path) and (path == first or read_text(path) != text):
            raise ConfigError(Problem("", "is there already; nothing was copied"), source=str(path))
        if is_there(path):
            del copies[path]


def _schemas_beside(configs: Iterable[Path]) -> list[Path]:
    """Where the schema belongs; raises ConfigError where another file has its name. An older schema is replaced."""
    places = list(dict.fromkeys(path.parent / SCHEMA_FILE for path in configs))
    for place in places:
        if is_there(place) and not _is_schema(place):
            raise ConfigError(Problem("", "is there already; nothing was copied"), source=str(place))
    return places


def _is_schema(path: Path) -> bool:
    try:
        held, ours = json.loads(read_text(path)), json.loads(read_text(packaged_schema()))
    except ValueError:
        return False
    return isinstance(held, dict) and held.get("title") == ours["title"]


def read_extends(path: Path) -> str | None:
    """The file that a config extends; None also for one that comes with the package, which need not be copied."""
    raw = load_yaml(read_text(path), str(path))
    parent = raw.get("extends") if isinstance(raw, dict) else None
    if parent is None or (isinstance(parent, str) and not is_there(path.parent / parent) and find_packaged(parent)):
        return None
    if not isinstance(parent, str):
        raise ConfigError(Problem("extends", f"{parent!r}: must be the name of a file"), source=str(path))
    return parent
