"""What was tried before the runs: what was chosen for each variant, out of what, and how sure that is."""

import json
from collections.abc import Iterator, Sequence

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.summary import VariantSummary
from tiedlm.experiment.tuning import Axis, PointScore, TunedVariant, Tuning, cautions_in_words
from tiedlm.report.figures import numbers
from tiedlm.report.figures.records import Records, Row


def tuning_rows(tuning: Tuning | None, variants: Sequence[VariantSummary]) -> Iterator[Row]:
    """The chosen value of each setting, of a variant that the plan added that of the one it was made of."""
    for axis in tuning.axes if tuning else ():
        yield Row.of(f"tuned {axis.label}", (_chosen(tuning, axis, variant) for variant in variants))


def tuning_remarks(comparison: Comparison) -> Iterator[str]:
    """What was tried, and why to look at the choice again."""
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
    cautions = cautions_in_words(tuning)
    if cautions:
        yield f"To be looked at again: {'; '.join(cautions)}."


def tuning_records(comparison: Comparison) -> list[Records]:
    """Every trial: a line for each point, a column for each variant; the best marked."""
    tuning = comparison.tuning
    if tuning is None:
        return []
    rows = [row for variant in tuning.variants for row in _trial_rows(variant, tuning)]
    names = tuple(trial.name for trial in tuning.variants[0].trials)
    title = "Trials: nats per token of validation, * the lowest"
    return [Records(names, tuple(rows), across="lines", title=title)]


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


def _chosen(tuning: Tuning | None, axis: Axis, variant: VariantSummary) -> str:
    tuned = tuning.of(variant.added.of if variant.added else variant.name) if tuning else None
    if tuned is None:
        return numbers.NOTHING
    value = tuned.settings[axis.key]
    return value if isinstance(value, str) else json.dumps(value)
