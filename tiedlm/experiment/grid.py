"""The grid of `tune`: which settings may be tried, their combinations and the names of these. Free of torch."""

import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from tiedlm.config.base import ConfigError, Problem, Raw, merge
from tiedlm.config.problems import field_paths, shown
from tiedlm.experiment.config import MOST_POINTS
from tiedlm.run.config import RunConfig

_NAME_LENGTH = 80
_MEASURE = "is no setting of the model or of its training: losses could not be held against each other"
_LENGTH = "is the length of training: the longer run would win, and the variants would not be trained alike"
_ONE = "is one for all runs of an experiment, or they are no pairs"
TELLS_APART = "is what tells the variants apart"
REFUSED = {
    "training.steps": _LENGTH,
    "training.tokens": _LENGTH,
    "training.epochs": _LENGTH,
    "training.micro_batch_size": _ONE,
    "training.precision": _ONE,
    "training.compile": _ONE,
    "model.type": TELLS_APART,
    "model.tying": TELLS_APART,
    "model.tying.type": TELLS_APART,
}


def axes(grid: Raw) -> dict[str, list[Any]]:
    """The values of each dotted key; a key may also be written as nested mappings, as `--set` does.

    Of a key that stands there more than once the last counts. Raises ConfigError with everything that is wrong.
    """
    values_of = dict(leaves(grid))
    problems = [problem for key, values in values_of.items() for problem in _problems(key, values)]
    if not values_of:
        problems.append(Problem("tune.grid", "must name at least one setting and its values"))
    if problems:
        raise ConfigError(*problems)
    number = math.prod(map(len, values_of.values()))
    if number > MOST_POINTS:
        raise ConfigError(Problem("tune.grid", f"{number:,} combinations for each variant: at most {MOST_POINTS:,}"))
    return values_of


def points(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination, the last key fastest."""
    return [dict(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]


def laid_over(raw: Raw, point: Mapping[str, Any]) -> Raw:
    """`raw` with the settings of a point in it."""
    for key, value in point.items():
        override: Any = value
        for step in reversed(key.split(".")):
            override = {step: override}
        raw = merge(raw, override)
    return raw


def holds(raw: Raw, key: str) -> bool:
    """Whether a mapping has a value at a dotted key, or above it a value that is no mapping."""
    value: Any = raw
    for step in key.split("."):
        if not isinstance(value, dict):
            return True
        if step not in value:
            return False
        value = value[step]
    return True


def settings_of(config: RunConfig, keys: Sequence[str]) -> dict[str, Any]:
    """The values of dotted keys as `config` has them, plain: 1e-3 and 0.001 are one."""
    raw = config.model_dump(mode="json")
    return {key: _at(raw, key) for key in keys}


def settings_name(settings: Mapping[str, Any]) -> str:
    """The settings as the name of a folder, "learning_rate=0.001+warmup=0.1"; other settings have another name."""
    text = "+".join(f"{short_key(key)}={written(value)}" for key, value in settings.items())
    cleaned = re.sub(r"[^A-Za-z0-9._+=@-]+", "_", text)
    if cleaned == text and len(text) <= _NAME_LENGTH:
        return text
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    return f"{cleaned[:_NAME_LENGTH]}@{digest[:8]}"


def written(value: object) -> str:
    """A value as a config would write it, text without quotes."""
    return value if isinstance(value, str) else json.dumps(value)


@cache
def short_key(key: str) -> str:
    """The last part of a dotted key where no other key ends in it, else all of it."""
    last = key.rpartition(".")[2]
    alike = {path for path in field_paths(RunConfig) if path.rpartition(".")[2] == last}
    return last if alike == {key} else key


def leaves(raw: Raw, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The dotted keys of nested mappings with what stands there; an empty mapping is a value."""
    for key, value in raw.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def overlap(key: str, other: str) -> bool:
    """Whether one of two dotted keys is the other, or lies above it."""
    return f"{key}.".startswith(f"{other}.") or f"{other}.".startswith(f"{key}.")


def whats_wrong(key: str, place: str) -> Iterator[Problem]:
    """Why a key cannot be tuned fairly, told under `place`."""
    part, *inner = key.split(".")
    if key in REFUSED:
        yield Problem(place, REFUSED[key])
    elif part not in ("model", "training"):
        yield Problem(place, _MEASURE)
    elif not inner:
        yield Problem(place, f"name a single setting below it, as in {part}.{_EXAMPLE[part]}")


def _problems(key: str, values: Any) -> Iterator[Problem]:
    place = f"tune.grid.{key}"
    refused = list(whats_wrong(key, place))
    yield from refused
    if not refused and (not isinstance(values, list) or not values):
        yield Problem(place, f"{shown(values)}: must be a list of the values to try")


_EXAMPLE = {"model": "dropout", "training": "learning_rate"}


def _at(raw: Raw, key: str) -> Any:
    value: Any = raw
    for step in key.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    return value
