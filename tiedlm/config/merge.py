"""Merging mappings that are parsed and not yet validated. Free of torch."""

from collections.abc import Mapping
from typing import Any

Raw = dict[str, Any]

COMMON_KEYS: Mapping[str, frozenset[str]] = {
    "tying": frozenset(
        (
            "init",
            "init_std",
            "input_scale",
            "embedding_norm",
            "embedding_dropout",
            "embedding_noise",
            "input_gradient_factor",
            "output_bias",
            "output_bias_std",
        )
    )
}
"""Keys that a mapping of any `type` has, by the key of the mapping: they hold for each type that is laid over them."""


def merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> Raw:
    """`base` with `override` laid over it, key by key.

    A mapping that names a `type` replaces all of the other but the keys that every type has, which stay as they were
    unless it says otherwise: a base `tying: {type: tied, input_scale: 2}` scales the `{type: untied}` of a variant too.
    """
    merged = dict(base)
    for key, value in override.items():
        mine = merged.get(key)
        if not isinstance(mine, dict) or not isinstance(value, dict):
            merged[key] = value
        elif "type" in value:
            merged[key] = {**{name: mine[name] for name in mine if is_common(key, name)}, **value}
        else:
            merged[key] = merge(mine, value)
    return merged


def is_common(mapping: str, key: str) -> bool:
    """Whether `key` of a mapping with a `type` stays where another type is laid over it."""
    return key in COMMON_KEYS.get(mapping, ())
