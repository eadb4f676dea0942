"""Recipes of their own: the rates, initial scales, decays and limits in which the variants differ."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tiedlm.comparison.analyses.recipe_differences import RecipeDifference, RecipeDifferences
from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures.table import Row, Table
from tiedlm.report.sections.section import MAX_VARIANTS_AT_A_GLANCE, Section

_ORIGINS = {"tuning": "by tuning", "config": "by config", "default": "by default"}


def _at_a_glance(comparison: Comparison) -> Iterator[str]:
    """One sentence with every key for the first variants that differ."""
    pairs = _by_variant(comparison)
    for variant in list(pairs)[:MAX_VARIANTS_AT_A_GLANCE]:
        yield f"{variant} and {comparison.baseline} have recipes of their own: {_in_words(pairs[variant])}."
    left_out = len(pairs) - MAX_VARIANTS_AT_A_GLANCE
    if left_out > 0:
        yield f"{left_out} more variants have a recipe that is not that of {comparison.baseline} (--details)."


def _by_variant(comparison: Comparison) -> dict[str, list[RecipeDifference]]:
    found = comparison.analysis(RecipeDifferences)
    pairs: dict[str, list[RecipeDifference]] = {}
    for difference in found.differences if found else ():
        pairs.setdefault(difference.variant, []).append(difference)
    return pairs


def _in_words(differences: Sequence[RecipeDifference]) -> str:
    """ "learning_rate 0.004 / 0.002 (by tuning), input_scale sqrt_dim / 1 (by config)"."""
    by_origin: dict[str, list[str]] = {}
    for each in differences:
        by_origin.setdefault(_origin(each), []).append(f"{_name(each)} {_value(each)} / {_baseline_value(each)}")
    return "; ".join(f"{', '.join(said)} ({_ORIGINS[origin]})" for origin, said in by_origin.items())


def _origin(difference: RecipeDifference) -> str:
    """How the two came to differ: by what set one of them, a search before a config before a default."""
    both = (difference.origin, difference.baseline_origin)
    return next(origin for origin in _ORIGINS if origin in both)


def _name(difference: RecipeDifference) -> str:
    return difference.key.rpartition(".")[2]


def _value(difference: RecipeDifference) -> str:
    return _shown(difference.written, difference.value)


def _baseline_value(difference: RecipeDifference) -> str:
    return _shown(difference.baseline_written, difference.baseline_value)


def _shown(written: Any, effective: Any) -> str:
    """As written, where it is written; "none" where there is no such limit."""
    value = effective if written is None else written
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value)


def _tables(comparison: Comparison) -> list[Table]:
    """A line for each key in which any variant differs, a column for each difference to the baseline."""
    pairs = _by_variant(comparison)
    keys = dict.fromkeys(difference.key for found in pairs.values() for difference in found)
    rows = [Row.of(key, (_cell(found, key) for found in pairs.values())) for key in keys]
    title = f"Recipes, each variant / {comparison.baseline}, and how they came to differ"
    return [Table(tuple(pairs), tuple(rows), title=title)] if rows else []


def _cell(differences: Sequence[RecipeDifference], key: str) -> str:
    for each in differences:
        if each.key == key:
            return f"{_value(each)} / {_baseline_value(each)}, {_ORIGINS[_origin(each)]}"
    return "the same"


SECTION = Section("Recipes", at_a_glance=_at_a_glance, remarks=_at_a_glance, tables=_tables)
