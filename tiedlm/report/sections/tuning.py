"""Tuning: the settings tried for each variant before its runs, the score of each, and reasons to doubt the choice."""

from collections.abc import Iterator

from tiedlm.comparison.comparison import Comparison
from tiedlm.experiment.tuning import PointScore, TunedVariant, Tuning, cautions_in_words
from tiedlm.report.figures import numbers
from tiedlm.report.figures.table import Row, Table
from tiedlm.report.sections.section import Section


def _remarks(comparison: Comparison) -> Iterator[str]:
    """What was tried, and why the choice may not be the best one."""
    tuning = comparison.tuning
    if tuning is None:
        return
    settings = ", ".join(axis.label for axis in tuning.axes)
    number = len(tuning.variants[0].trials)
    seeds = f"seed{'s' if len(tuning.seeds) > 1 else ''} {', '.join(map(str, tuning.seeds))}"
    yield (
        f"Tuned: {settings}; for each variant the best of the same {number} setting{'s' if number > 1 else ''}, by "
        f"validation alone, in trials of their own ({seeds})."
    )
    yield from _cautions(comparison)


def _cautions(comparison: Comparison) -> Iterator[str]:
    cautions = cautions_in_words(comparison.tuning) if comparison.tuning else []
    if cautions:
        yield f"To be looked at again: {'; '.join(cautions)}."


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


SECTION = Section("Tuning", at_a_glance=_cautions, remarks=_remarks, tables=_tables)
