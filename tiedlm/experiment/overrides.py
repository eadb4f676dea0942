"""Settings of the command line that would make variants alike which the file tells apart. Free of torch."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tiedlm.config.base import ConfigError, Problem, Raw
from tiedlm.config.file import apply_settings
from tiedlm.config.problems import shown
from tiedlm.experiment.grid import TELLS_APART, leaves, overlap

_ABSENT = object()


def with_settings(variants: Mapping[str, Raw], settings: Sequence[str], source: str = "") -> dict[str, Raw]:
    """Each variant with the settings laid over it.

    Raises ConfigError where a setting is of a key in which the variants differ, or replaces a mapping that holds one:
    one model would then be compared with itself under two names.
    """
    before = {name: dict(leaves(raw)) for name, raw in variants.items()}
    differing = [key for key in _keys(before) if _differs(key, before)]
    problems: list[Problem] = []
    for setting in settings:
        keys = dict(leaves(apply_settings({}, [setting])))
        after = {name: dict(leaves(apply_settings(raw, [setting]))) for name, raw in variants.items()}
        touched = [
            key
            for key in differing
            if any(overlap(key, given) for given in keys)
            or any(before[name].get(key, _ABSENT) != after[name].get(key, _ABSENT) for name in variants)
        ]
        if touched:
            written = setting.partition("=")[0].strip()
            given = next((key for key in keys if overlap(touched[0], key)), written)
            subject = "" if touched[0] == given else f"would change {touched[0]} too, which "
            problems.append(Problem(f"--set {given}", f"{subject}{_message(touched[0], before)}"))
    if problems:
        raise ConfigError(*problems, source=source)
    return {name: apply_settings(raw, settings) for name, raw in variants.items()}


def _message(key: str, variants: Mapping[str, Mapping[str, Any]]) -> str:
    values = ", ".join(f"{name}: {shown(leaf[key]) if key in leaf else 'not given'}" for name, leaf in variants.items())
    one = next(iter(variants))
    return f"{TELLS_APART} ({values}); to change one of them say --set variants.{one}.{key}=..."


def _keys(variants: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield from dict.fromkeys(key for flat in variants.values() for key in flat)


def _differs(key: str, variants: Mapping[str, Mapping[str, Any]]) -> bool:
    first, *others = (flat.get(key, _ABSENT) for flat in variants.values())
    return any(other != first for other in others)
