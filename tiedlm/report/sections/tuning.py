"""Tuning: the settings tried for each variant before its runs, the score of each, and reasons to doubt the choice."""

from collections.abc import Iterator

from tiedlm.comparison.analyses.recipe_differences import RecipeDifferences
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.recipe_definition import FOLLOWS
from tiedlm.comparison.verdict import seeds_in_words
from tiedlm.experiment.tuning import PointScore, TunedVariant, Tuning, diverged_in_words
from tiedlm.report.figures import numbers
from tiedlm.report.figures.table import Row, Table
from tiedlm.report.sections.section import Section

_FEW = 3
"""Settings that were not tuned, named on the screen."""


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
    return ", ".join(axis.label for axis in tuning.axes)


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
    number = len(tuning.variants[0].trials)
    seeds = f"seed{'s' if len(tuning.seeds) > 1 else ''} {', '.join(map(str, tuning.seeds))}"
    yield (
        f"Tuned: {_tuned_keys(tuning)}; for each variant the best of the same {number} "
        f"setting{'s' if number > 1 else ''}, by validation alone, in trials of their own ({seeds}). "
        f"Not tuned: {', '.join(_not_tuned(comparison))}."
    )
    yield from _failures(comparison)


def _failures(comparison: Comparison) -> Iterator[str]:
    diverged = diverged_in_words(comparison.tuning) if comparison.tuning else []
    if diverged:
        yield f"To be looked at again: {'; '.join(diverged)}."


def _tables(comparison: Comparison) -> list[Table]:
    """Every trial: a line for each point, a column for each variant; the best marked."""
    tuning = comparison.tuning
    if tuning is None:
        return []
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


def _cell(trial: PointScore, chosen: str) -> str:
    return f"{'* ' if trial.name == chosen else ''}{_nats(trial.nats_per_token)}"


def _nats(value: float | None) -> str:
    return "diverged" if value is None else numbers.decimal(value, 4)


SECTION = Section("Tuning", at_a_glance=_at_a_glance, remarks=_remarks, tables=_tables)
