"""Resolved configs by dotted keys: which of them say what a run computes, and in which two runs differ."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args

from tiedlm.config.base import Config, content_path_keys, execution_keys

_NAMES = frozenset({"name", "variant", "seed"})
"""Keys that say which run it is."""
_TYING_TYPE = "model.tying.type"


def config_differences(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """The dotted keys in which two resolved configs differ, without names, seeds and how a run is carried out.

    Both as they were stored, maybe by an older version: a key that is not in one of them is null there, unless it comes
    with one's kind of tying alone: such a key is a difference where it is not at its default.
    """
    one, other = flat_settings(mine), flat_settings(theirs)
    differing = [key for key in dict.fromkeys([*one, *other]) if says_what(key) and one.get(key) != other.get(key)]
    if one.get(_TYING_TYPE) == other.get(_TYING_TYPE):
        return differing
    implied = {key for flat, without in ((one, other), (other, one)) for key in _defaults_of_tying(flat, without)}
    return [key for key in differing if key not in implied]


def _defaults_of_tying(flat: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """The keys of its tying that another config does not have, and that are at their default."""
    kind = _tying_configs().get(flat.get(_TYING_TYPE, ""))
    for name, field in (kind.model_fields if kind else {}).items():
        key = f"model.tying.{name}"
        if key in flat and key not in other and flat[key] == field.get_default():
            yield key


@cache
def _tying_configs() -> dict[str, type[Config]]:
    from tiedlm.tying.config import TyingConfig  # not to print what is stored, which needs no config models

    union, *_ = get_args(TyingConfig)
    return {kind.model_fields["type"].default: kind for kind in get_args(union)}


def says_what(key: str) -> bool:
    """Whether a dotted key of a run's config says what the run computes."""
    return key not in _NAMES and not any(f"{key}.".startswith(f"{other}.") for other in _execution_keys())


def names_file(key: str) -> bool:
    """Whether the value at a dotted key is a path, which says nothing where the content is compared."""
    return key in _content_path_keys()


@cache
def _content_path_keys() -> frozenset[str]:
    from tiedlm.run.config import RunConfig  # as above

    return frozenset(content_path_keys(RunConfig))


@cache
def _execution_keys() -> frozenset[str]:
    from tiedlm.run.config import RunConfig  # not to print what is stored, which needs no config models

    return frozenset(execution_keys(RunConfig))


def flat_settings(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A resolved config by dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            flat |= flat_settings(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat
