"""What is stored beside what was recomputed: how many numbers hold, and each that does not. Free of torch."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tiedlm.config.base import Config

TOLERANCE = 1e-9
"""Relative; absolute too below one, for differences of numbers near each other."""
_MISSING = "nothing"
_NAMES = (("part", "recipe", "variant", "name", "split", "seed"), ("step",))
"""What tells the members of a list apart; the second where they have none of the first."""

Value = str | float | int | bool | None


class Failed(Config):
    """A value that does not hold: where it stands, and what it is against what it should be."""

    file: str
    key: str
    stored: Value
    recomputed: Value


class Checks:
    """Everything that was compared so far."""

    def __init__(self, words: bool = True) -> None:
        self.words = words
        self.num_numbers = 0
        self.num_words = 0
        self.failed: list[Failed] = []

    def check(self, file: str, stored: Any, recomputed: Any, key: str = "") -> None:
        """Compare two JSON documents leaf by leaf. A key that is not stored was not reported, and is no fault."""
        if isinstance(stored, Mapping) and isinstance(recomputed, Mapping):
            for name, value in stored.items():
                self.check(file, value, recomputed.get(name, _MISSING), f"{key}.{name}" if key else name)
        elif isinstance(stored, Sequence) and isinstance(recomputed, Sequence) and not isinstance(stored, str):
            self._check_lists(file, stored, recomputed, key)
        else:
            self._check_leaf(file, stored, recomputed, key)

    def _check_lists(self, file: str, stored: Sequence[Any], recomputed: Sequence[Any], key: str) -> None:
        if len(stored) != len(recomputed):
            self.failed.append(Failed(file=file, key=f"{key}, length", stored=len(stored), recomputed=len(recomputed)))
        for index, (one, other) in enumerate(zip(stored, recomputed, strict=False)):
            self.check(file, one, other, f"{key}[{_name(one) or index}]")

    def _check_leaf(self, file: str, stored: Any, recomputed: Any, key: str) -> None:
        if isinstance(stored, str) and not self.words:
            return
        is_number = isinstance(stored, int | float) and not isinstance(stored, bool)
        self.num_numbers += is_number
        self.num_words += isinstance(stored, str)
        if is_number and isinstance(recomputed, int | float) and float in (type(stored), type(recomputed)):
            holds = math.isclose(stored, recomputed, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        else:
            holds = bool(stored == recomputed)
        if not holds:
            self.failed.append(Failed(file=file, key=key, stored=_shown(stored), recomputed=_shown(recomputed)))


def _name(member: Any) -> str:
    if not isinstance(member, Mapping):
        return ""
    names = (", ".join(str(member[key]) for key in keys if isinstance(member.get(key), str | int)) for keys in _NAMES)
    return next(filter(None, names), "")


def _shown(value: Any) -> Value:
    return value if value is None or isinstance(value, str | int | float) else type(value).__name__
