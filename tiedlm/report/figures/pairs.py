"""A variant beside the baseline: how equal start and batches were, and in which config keys the two differ."""

import json
from collections.abc import Sequence
from typing import Any

from tiedlm.comparison.analyses.recipe_differences import RecipeDifferences
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference

_MAX_KEYS = 6
_MAX_VALUE_LENGTH = 20
_TYPE = "model.tying.type"
_PAIRING = {
    "start+batches": "{variant} and {baseline}: start and batches were equal",
    "batches": "{variant} and {baseline}: batches were equal, the start was not",
    "none": "{variant} and {baseline} are not pairs",
}


def pairing_in_words(level: str, variants: str, baseline: str) -> str:
    """How equal start and batches were, without a full stop."""
    return _PAIRING[level].format(variant=variants, baseline=baseline)


def differing_keys(comparison: Comparison, difference: Difference) -> str:
    """ "model.tying.type, model.num_layers (2 against 3)": keys, and their values where these are short.

    Those of the recipe are said by a section of their own (sections/recipe_differences.py), and here that there are.
    """
    found = comparison.analysis(RecipeDifferences)
    of_recipe = {key for definition in (found.definitions.values() if found else ()) for key in definition}
    have_own = any(each.variant == difference.variant for each in (found.differences if found else ()))
    keys = [key for key in difference.config_differences if key not in of_recipe]
    if not keys:
        return "their recipes" if have_own else "nothing"
    configs = [
        next((variant.config for variant in comparison.variants if variant.name == name), {})
        for name in (difference.variant, difference.baseline)
    ]
    told = [key if key == _TYPE else f"{key}{_values(configs, key)}" for key in keys[:_MAX_KEYS]]
    more = f" and {len(keys) - _MAX_KEYS} more (--details)" if len(keys) > _MAX_KEYS else ""
    return ", ".join(told) + more + (" and their recipes" if have_own else "")


def _values(configs: Sequence[dict[str, Any]], key: str) -> str:
    one, other = (_value(config, key) for config in configs)
    is_short = one != other and max(len(one), len(other)) <= _MAX_VALUE_LENGTH
    return f" ({one} against {other})" if is_short else ""


def _value(config: dict[str, Any], key: str) -> str:
    found: Any = config
    for name in key.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    if isinstance(found, float):
        return f"{found:g}"
    return found if isinstance(found, str) else json.dumps(found)
