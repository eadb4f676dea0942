"""Mappings as a file gives them: parsed, not yet validated."""

from collections.abc import Mapping
from typing import Any

Raw = dict[str, Any]


def merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> Raw:
    """`base` with `override` laid over it, key by key; a mapping that names a `type` replaces the other whole."""
    merged = dict(base)
    for key, value in override.items():
        mine = merged.get(key)
        if isinstance(mine, dict) and isinstance(value, dict) and "type" not in value:
            merged[key] = merge(mine, value)
        else:
            merged[key] = value
    return merged
