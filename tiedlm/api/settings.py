"""Configs and overrides as a Python program has them: files, names, mappings, `key=value`. Free of torch."""

import json
import numbers
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiedlm.config.merge import Raw
from tiedlm.data.cache_dir import default_cache_dir
from tiedlm.errors import ConfigError, Problem

ConfigSource = str | Path | Mapping[str, Any]
"""A config file, the name of a config that comes with the package, or the mapping that a file would hold."""
Overrides = Mapping[str, Any] | Sequence[str] | None
"""{"dotted.key": value} or ["dotted.key=value"]."""


def as_path(path: str | Path) -> Path:
    """A path, `~` being the home folder."""
    return Path(path).expanduser()


def cache_folder(chosen: str | Path | None) -> Path:
    """The cache that was asked for, else the user's."""
    return default_cache_dir() if chosen is None else as_path(chosen)


def as_settings(overrides: Overrides) -> list[str]:
    """`dotted.key=value` for each override, as `--set` takes it; raises ConfigError."""
    if overrides is None:
        return []
    if isinstance(overrides, str):
        return [overrides]
    if isinstance(overrides, Mapping):
        return [f"{key}={json.dumps(plain(value, str(key)), ensure_ascii=False)}" for key, value in overrides.items()]
    return [str(setting) for setting in overrides]


def as_config(config: ConfigSource) -> str | Path | Raw:
    """A config as the functions that read one take it; raises ConfigError."""
    if not isinstance(config, Mapping):
        return config
    raw: Raw = plain(config, "")
    return raw


def plain(value: Any, key: str) -> Any:
    """A value with the types that a config file can hold: tuples are lists, paths text, numpy's numbers Python's.

    Raises ConfigError that names the dotted `key`.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(name): plain(inner, f"{key}.{name}".removeprefix(".")) for name, inner in value.items()}
    if isinstance(value, Sequence):
        return [plain(inner, key) for inner in value]
    found = f"a value of type {type(value).__name__}"
    raise ConfigError(Problem(key, f"{found}: must be a number, text, true or false, null, a list or a mapping"))
