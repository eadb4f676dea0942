"""What was tried for each variant before its runs, and what came out: the schema. Free of torch."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from tiedlm.config.base import Config


class TrialSeed(Config):
    """One trial run: its sums on validation, or why it has none."""

    seed: int
    nll: float | None
    tokens: int | None
    nats_per_token: float | None
    failure: str | None = None


class Trial(Config):
    """One point of the grid over the seeds of the tuning.

    `nats_per_token` is the mean over them; null, with the reason, where a seed diverged, which counts as infinite.
    """

    settings: dict[str, Any]
    name: str
    nats_per_token: float | None
    reason: str | None = None
    per_seed: list[TrialSeed]

    @property
    def loss(self) -> float:
        """What the trials are ordered by."""
        return math.inf if self.nats_per_token is None else self.nats_per_token


class Axis(Config):
    """The values tried of one setting; `label` is its key in short."""

    key: str
    label: str
    values: list[Any]


class Edge(Config):
    """A chosen number beyond which nothing was tried, though something lies there."""

    label: str
    value: int | float
    side: Literal["smallest", "largest"]


class TunedVariant(Config):
    """All trials of a variant, in the order of the grid, and the best of them; of equals the first."""

    variant: str
    settings: dict[str, Any]
    chosen: str
    edges: list[Edge]
    trials: list[Trial]

    def best(self) -> Trial:
        """The trial that was chosen."""
        return next(trial for trial in self.trials if trial.name == self.chosen)


class Tuning(Config):
    """Every variant's own best on validation, out of the same trials; the test split was not read."""

    split: Literal["validation"] = "validation"
    seeds: list[int]
    axes: list[Axis]
    variants: list[TunedVariant]

    def of(self, variant: str) -> TunedVariant | None:
        """The trials of one variant."""
        return next((tuned for tuned in self.variants if tuned.variant == variant), None)


def edges_of(settings: dict[str, Any], axes: Sequence[Axis]) -> Iterator[Edge]:
    """The chosen numbers that are the smallest or the largest of several; 0 ends its axis, below it nothing lies.

    Steps and fractions of a run are no common axis, so neither are whole numbers and fractions mixed.
    """
    for axis in axes:
        values, value = axis.values, settings[axis.key]
        kinds = {type(value) for value in values if value != 0}
        if len(values) < 2 or kinds not in ({int}, {float}):
            continue
        if value == max(values):
            yield Edge(label=axis.label, value=value, side="largest")
        elif value == min(values) and value != 0:
            yield Edge(label=axis.label, value=value, side="smallest")


def choice_in_words(tuned: TunedVariant) -> str:
    """What was chosen for a variant, and out of how many."""
    nats = tuned.best().nats_per_token
    return f"{tuned.variant}: {tuned.chosen}, the best of {len(tuned.trials)} ({nats:.4f} nats per token of validation)"


def cautions_in_words(tuning: Tuning) -> list[str]:
    """Why to look at the choices again, each reason once for all variants that it holds for."""
    variants_of: dict[str, list[str]] = {}
    for tuned in tuning.variants:
        for reason in _cautions(tuned):
            variants_of.setdefault(reason, []).append(tuned.variant)
    return [f"{' and '.join(variants)}: {reason}" for reason, variants in variants_of.items()]


def _cautions(tuned: TunedVariant) -> Iterator[str]:
    for edge in tuned.edges:
        yield f"{edge.label} {edge.value:g} is the {edge.side} tried, the best may lie beyond it"
    diverged = sum(trial.nats_per_token is None for trial in tuned.trials)
    if diverged:
        yield f"{diverged} of {len(tuned.trials)} settings diverged"
