"""Merging mappings that are parsed and not yet validated. Free of torch."""

from collections.abc import Mapping
from typing import Any

Raw = dict[str, Any]


def merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> Raw:
    """`base` with `override` laid over it, key by key; a mapping that names a `type` replaces all of the other."""
    merged = dict(base)
    for key, value in override.items():
        mine = merged.get(key)
        if isinstance(mine, dict) and isinstance(value, dict) and "type" not in value:
            merged[key] = merge(mine, value)
        else:
            merged[key] = value
    return merged
