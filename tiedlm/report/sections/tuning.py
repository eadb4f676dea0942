"""Tuning: the settings tried for each variant before its runs, the score of each, and reasons to doubt the choice."""

import json
from collections.abc import Iterator
from typing import Any

from tiedlm.comparison.analyses.recipe_differences import RecipeDifferences
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.recipe_definition import FOLLOWS
from tiedlm.comparison.verdict import seeds_in_words
from tiedlm.experiment.tuning import PointScore, TunedVariant, Tuning, diverged_in_words
from tiedlm.report.figures import numbers
from tiedlm.report.figures.table import NOTHING, Row, Table
from tiedlm.report.sections.section import Section

_FEW = 3
"""Settings that were not tuned, named on the screen."""
_HOW = {
    "grid": "the same {number}",
    "random": "the same {number} drawn",
    "halving": "the same {number} drawn",
    "tpe": "{number} proposed by TPE from its own trials",
}
"""How the settings of a variant were found, by the method of the search."""


def _at_a_glance(comparison: Comparison) -> Iterator[str]:
    """What was searched and how thoroughly, and what was not; a choice at an edge is a sign (signs.py)."""
    tuning = comparison.tuning
    if tuning is None:
        return
    number, left = len(tuning.variants[0].trials), _not_tuned(comparison)
    tried = f"{number} setting{'s' if number > 1 else ''}, {seeds_in_words(len(tuning.seeds))}"
    more = f" and {len(left) - _FEW} more" if len(left) > _FEW else ""
    yield f"Tuned: {_tuned_keys(tuning)}, {tried}; not tuned: {', '.join(left[:_FEW])}{more}."
    yield from _failures(comparison)


def _tuned_keys(tuning: Tuning) -> str:
    return ", ".join(dict.fromkeys(axis.label for axis in tuning.axes))


def _not_tuned(comparison: Comparison) -> list[str]:
    """The settings of a recipe that take effect in a variant and were not searched, the weightier first.

    One that has the value of a setting which was searched, and follows it, is not among them.
    """
    found = comparison.analysis(RecipeDifferences)
    definitions = list(found.definitions.values()) if found else []
    tuned = {axis.key for axis in comparison.tuning.axes} if comparison.tuning else set()
    tuned |= {
        key
        for key, leader in FOLLOWS.items()
        if leader in tuned and all(recipe.get(key) == recipe.get(leader) for recipe in definitions)
    }
    keys = dict.fromkeys(key for recipe in definitions for key, value in recipe.items() if value is not None)
    return [key.rpartition(".")[2] for key in keys if key not in tuned]


def _remarks(comparison: Comparison) -> Iterator[str]:
    """What was tried and what was not, and of what nothing is known."""
    tuning = comparison.tuning
    if tuning is None:
        return
    count = len(tuning.variants[0].trials)
    number = f"{count} setting{'s' if count > 1 else ''}"
    seeds = f"seed{'s' if len(tuning.seeds) > 1 else ''} {', '.join(map(str, tuning.seeds))}"
    yield (
        f"Tuned: {_tuned_keys(tuning)}; for each variant the best of {_HOW[tuning.method].format(number=number)}, by "
        f"validation alone, in trials of their own ({seeds}){_rungs_in_words(tuning)}. "
        f"Not tuned: {', '.join(_not_tuned(comparison))}."
    )
    yield from _failures(comparison)


def _failures(comparison: Comparison) -> Iterator[str]:
    diverged = diverged_in_words(comparison.tuning) if comparison.tuning else []
    if diverged:
        yield f"To be looked at again: {'; '.join(diverged)}."


def _rungs_in_words(tuning: Tuning) -> str:
    """Which of the candidates went on at each rung."""
    if tuning.halving is None:
        return ""
    count = len(tuning.variants[0].trials)
    going_on = zip(tuning.halving.entrants(count)[1:], tuning.halving.shares, strict=False)
    return "; " + ", ".join(f"{num} went on after {100 * share:.3g} % of the run" for num, share in going_on)


def _tables(comparison: Comparison) -> list[Table]:
    """Every trial: of a grid a line for each point, a column for each variant; else a table for each variant."""
    tuning = comparison.tuning
    if tuning is None:
        return []
    if tuning.method != "grid":
        return [_table_of_variant(variant, tuning) for variant in tuning.variants]
    rows = [row for variant in tuning.variants for row in _trial_rows(variant, tuning)]
    names = tuple(trial.name for trial in tuning.variants[0].trials)
    title = "Trials: nats per token of validation, * the lowest"
    return [Table(names, tuple(rows), names_as="lines", title=title)]


def _trial_rows(variant: TunedVariant, tuning: Tuning) -> Iterator[Row]:
    """The mean over the seeds of the trials, and where there are several, each of them."""
    yield Row.of(variant.variant, (_cell(trial, variant.chosen) for trial in variant.trials))
    if len(tuning.seeds) > 1:
        for index, seed in enumerate(tuning.seeds):
            scores = (trial.per_seed[index].nats_per_token for trial in variant.trials)
            yield Row.of(f"{variant.variant}, {seed}", (_nats(score) for score in scores))


def _table_of_variant(variant: TunedVariant, tuning: Tuning) -> Table:
    """A line for each candidate, the best first; those that were pruned after the others, the last of them first."""
    trials = sorted(variant.trials, key=_place)
    rows = [
        Row.of(axis.label, (_value(trial.settings[axis.key]) for trial in trials))
        for axis in tuning.axes
        if axis.is_of(variant.variant)
    ]
    rows.append(Row.of("nats per token", (_cell(trial, variant.chosen) for trial in trials)))
    if tuning.halving is not None:
        rows.append(Row.of("pruned after step", (_pruned_after(trial) for trial in trials)))
    title = f"Trials of {variant.variant}: nats per token of validation, * the lowest"
    return Table(tuple(trial.name for trial in trials), tuple(rows), names_as="lines", title=title)


def _place(trial: PointScore) -> tuple[bool, bool, int, float]:
    """The order: scored at the end, pruned late, pruned early, diverged."""
    pruned = trial.pruned
    score = trial.loss if pruned is None else pruned.nats_per_token
    return trial.diverged, pruned is not None, -pruned.step if pruned else 0, score


def _cell(trial: PointScore, chosen: str) -> str:
    if trial.pruned is not None:
        return numbers.decimal(trial.pruned.nats_per_token, 4)
    return f"{'* ' if trial.name == chosen else ''}{_nats(trial.nats_per_token)}"


def _pruned_after(trial: PointScore) -> str:
    return numbers.count(trial.pruned.step) if trial.pruned else NOTHING


def _nats(value: float | None) -> str:
    return "diverged" if value is None else numbers.decimal(value, 4)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


SECTION = Section("Tuning", at_a_glance=_at_a_glance, remarks=_remarks, tables=_tables)
