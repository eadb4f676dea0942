"""Config files with what they `extends`, and `--set`. Free of torch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiedlm.config.find import find_extended, is_packaged
from tiedlm.config.merge import Raw, merge
from tiedlm.config.written import written_in
from tiedlm.config.yaml_core import load_yaml
from tiedlm.errors import ConfigError, Problem
from tiedlm.paths import reason, working_folder

MAX_BYTES = 200_000


def read_text(path: Path) -> str:
    """The text of a config file; one clear ConfigError where it cannot be one."""
    source = str(path)
    try:
        if path.is_dir():
            raise ConfigError(Problem("", "is a folder, not a config file"), source=source)
        if path.exists() and not path.is_file():  # a pipe or a device, which might never end
            raise ConfigError(Problem("", "is no ordinary file"), source=source)
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(Problem("", f"cannot be read: {reason(error, path)}"), source=source) from None
    if len(data) > MAX_BYTES:
        raise ConfigError(Problem("", f"larger than {MAX_BYTES:,} bytes: not a config file"), source=source)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ConfigError(Problem("", f"not UTF-8 text (byte {error.start})"), source=source) from None


def read_mapping(path: Path) -> Raw:
    """The mapping in a file as it stands there; raises ConfigError."""
    raw = load_yaml(read_text(path), str(path))
    if not isinstance(raw, dict):
        raise ConfigError(Problem("", "must hold a mapping of keys to values"), source=str(path))
    return raw


def read_config(path: Path, _above: tuple[Path, ...] = ()) -> Raw:
    """The mapping in a config file with everything it `extends` underneath.

    What it extends is a path from its own folder, else the name of a config that comes with the package. Its texts know
    the folder that other paths in it are taken from: its own, and the working folder where it comes with the package,
    in whose folder nothing of the user's lies.
    """
    source, resolved = str(path), path.resolve()
    if resolved in _above:
        chain = " -> ".join(item.name for item in [*_above, resolved])
        raise ConfigError(Problem("extends", f"goes in a circle: {chain}"), source=source)
    raw: Raw = written_in(read_mapping(path), working_folder() / ("" if is_packaged(path) else path.parent))
    parent = raw.pop("extends", None)
    if parent is None:
        return raw
    if not isinstance(parent, str):
        raise ConfigError(Problem("extends", f"{parent!r}: must be the name of a file"), source=source)
    return merge(read_config(find_extended(parent, path), (*_above, resolved)), raw)


def apply_settings(raw: Raw, settings: Sequence[str]) -> Raw:
    """`raw` with each `dotted.key=value` laid over it; a value is parsed as in a file in the working folder."""
    for setting in settings:
        key, equals, value = setting.partition("=")
        steps = key.strip().split(".")
        if not equals or not all(steps):
            raise ConfigError(Problem("", f"{setting!r} is not key=value"), source="--set")
        if steps == ["extends"]:
            raise ConfigError(
                Problem(key, "is read in a file alone: write one that extends this config"), source="--set"
            )
        override: Any = written_in(load_yaml(value, f"--set {key}"), working_folder())
        for step in reversed(steps):
            override = {step: override}
        raw = merge(raw, override)
    return raw
