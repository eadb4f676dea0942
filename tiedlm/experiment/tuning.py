"""The outcome of a tuning search: which settings were tried for each variant, and which chosen. Free of torch."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

from tiedlm.config.base import Config


class SeedScore(Config):
    """The score of one tuning run on validation, or why it has none."""

    seed: int
    nll: float | None
    tokens: int | None
    nats_per_token: float | None
    failure: str | None = None


class PointScore(Config):
    """The score of one point of the grid, over the seeds of the tuning.

    `nats_per_token` is the mean over them; null, with the reason, where a seed diverged, which counts as infinite.
    """

    settings: dict[str, Any]
    name: str
    nats_per_token: float | None
    reason: str | None = None
    per_seed: list[SeedScore]

    @property
    def loss(self) -> float:
        """What the points are ordered by."""
        return math.inf if self.nats_per_token is None else self.nats_per_token


class Axis(Config):
    """The values tried of one setting; `label` is its key in short."""

    key: str
    label: str
    values: list[Any]


class Edge(Config):
    """A chosen number that is the smallest or the largest of those tried: a better one may lie beyond it."""

    label: str
    value: int | float
    side: Literal["smallest", "largest"]


class TunedVariant(Config):
    """All points that were tried for a variant, in the order of the grid, and the best; of equals the first."""

    variant: str
    settings: dict[str, Any]
    chosen: str
    edges: list[Edge]
    trials: list[PointScore]

    def best(self) -> PointScore:
        """The point that was chosen."""
        return next(point for point in self.trials if point.name == self.chosen)


class Tuning(Config):
    """The best settings of every variant on validation, out of the same grid; the test split was not read."""

    split: Literal["validation"] = "validation"
    seeds: list[int]
    axes: list[Axis]
    variants: list[TunedVariant]

    def of(self, variant: str) -> TunedVariant | None:
        """The part of one variant."""
        return next((tuned for tuned in self.variants if tuned.variant == variant), None)


def edges_of(settings: dict[str, Any], axes: Sequence[Axis]) -> Iterator[Edge]:
    """The chosen numbers that are the smallest or the largest of several; 0 is no edge, nothing lies below it.

    Axes of whole numbers and fractions mixed have no edges: the ones are steps, the others parts of a run.
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
    """A sentence: what was chosen for a variant, out of how many."""
    nats = tuned.best().nats_per_token
    return f"{tuned.variant}: {tuned.chosen}, the best of {len(tuned.trials)} ({nats:.4f} nats per token of validation)"


def cautions_in_words(tuning: Tuning) -> list[str]:
    """Sentences on what is doubtful about the choices, each once for all variants that it holds for."""
    return _joined(tuning, lambda tuned: [*_at_edges(tuned), *_diverged(tuned)])


def diverged_in_words(tuning: Tuning) -> list[str]:
    """Of how many settings nothing is known but that they diverged, as `cautions_in_words` says it."""
    return _joined(tuning, _diverged)


def _joined(tuning: Tuning, said: Callable[[TunedVariant], Iterable[str]]) -> list[str]:
    variants_of: dict[str, list[str]] = {}
    for tuned in tuning.variants:
        for reason in said(tuned):
            variants_of.setdefault(reason, []).append(tuned.variant)
    return [f"{' and '.join(variants)}: {reason}" for reason, variants in variants_of.items()]


def _at_edges(tuned: TunedVariant) -> Iterator[str]:
    for edge in tuned.edges:
        yield f"{edge.label} {edge.value:g} is the {edge.side} tried, the best may lie beyond it"


def _diverged(tuned: TunedVariant) -> Iterator[str]:
    diverged = sum(point.nats_per_token is None for point in tuned.trials)
    if diverged:
        yield f"{diverged} of {len(tuned.trials)} settings diverged"
