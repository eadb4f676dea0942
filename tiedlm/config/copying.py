"""What a config file is for, and copies of it to be changed. Free of torch."""

import re
from pathlib import Path

from tiedlm.config.file import read_text
from tiedlm.config.find import find_config, find_packaged, is_there
from tiedlm.config.yaml_core import load_yaml
from tiedlm.errors import ConfigError, Problem
from tiedlm.files import write_atomic
from tiedlm.paths import check_file

_NAME_LINE = re.compile(r"^name:[^\n#]*(?<! )", re.MULTILINE)


def purpose(path: Path) -> str:
    """What a config is for: the comment at its top, up to the first line that ends a sentence."""
    said: list[str] = []
    for line in read_text(path).splitlines():
        if not line.startswith("#") or (said and said[-1].endswith(".")):
            break
        said.append(line.removeprefix("#").strip())
    return " ".join(said)


def copy_config(name: str, destination: Path) -> list[Path]:
    """Copy a config to a file, or into a folder, with those that it extends beside it; returns what was written.

    Under another file name it is another experiment, and named so: two that differ must not share their run folders.
    Raises ConfigError where a file is there already or what it extends lies outside its own folder.
    """
    source = find_config(name)
    target = destination / source.name if destination.is_dir() else destination
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
    for path in copies:
        check_file(path)
        if is_there(path):
            raise ConfigError(Problem("", "is there already; nothing was copied"), source=str(path))
    first = next(iter(copies))
    if first.stem != find_config(name).stem:
        copies[first] = _NAME_LINE.sub(f"name: {first.stem}", copies[first], count=1)
    for path, text in copies.items():
        write_atomic(path, text)
    return list(copies)


def read_extends(path: Path) -> str | None:
    """The file that a config extends; None also for one that comes with the package, which need not be copied."""
    raw = load_yaml(read_text(path), str(path))
    parent = raw.get("extends") if isinstance(raw, dict) else None
    if parent is None or (isinstance(parent, str) and not is_there(path.parent / parent) and find_packaged(parent)):
        return None
    if not isinstance(parent, str):
        raise ConfigError(Problem("extends", f"{parent!r}: must be the name of a file"), source=str(path))
    return parent
