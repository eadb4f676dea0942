"""The outcome of a tuning search: which settings were tried for each variant, and which chosen. Free of torch."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from tiedlm.config.base import Config
from tiedlm.experiment.halving import Halving
from tiedlm.experiment.space import Range
from tiedlm.run.rung import RungScore

Method = Literal["grid", "random", "halving", "tpe"]
NEAR_AN_END = 0.05
"""A number in this part of a range, at either end of it, is near the end."""


class SeedScore(Config):
    """The score of one tuning run on validation at its end, or why it has none; `rungs` are those on the way."""

    seed: int
    nll: float | None
    tokens: int | None
    nats_per_token: float | None
    failure: str | None = None
    rungs: list[RungScore] = []  # noqa: RUF012 (a frozen model)


class RungMean(Config):
    """The mean over the seeds at a rung."""

    step: int
    nats_per_token: float


class PointScore(Config):
    """The score of one candidate, over the seeds of the tuning.

    `nats_per_token` is the mean over them; null, with the reason, where a seed diverged, which counts as infinite, and
    where the candidate was pruned: then the last of `rungs` is what it was pruned by.
    """

    settings: dict[str, Any]
    name: str
    nats_per_token: float | None
    reason: str | None = None
    per_seed: list[SeedScore]
    rungs: list[RungMean] = []  # noqa: RUF012 (a frozen model)

    @property
    def loss(self) -> float:
        """What the candidates are ordered by."""
        return math.inf if self.nats_per_token is None else self.nats_per_token

    @property
    def diverged(self) -> bool:
        """Whether a seed diverged, so that there is no mean."""
        failed = any(score.failure is not None for score in self.per_seed)
        return self.nats_per_token is None and (failed or not self.rungs)

    @property
    def pruned(self) -> RungMean | None:
        """Where and by what score the candidate was pruned."""
        return self.rungs[-1] if self.nats_per_token is None and not self.diverged else None


class Axis(Config):
    """What may be tried of one setting, a list of values or a range; `label` is its key in short.

    `variants` are those that it is tried for; null: all.
    """

    key: str
    label: str
    values: list[Any] = []  # noqa: RUF012 (a frozen model)
    range: Range | None = None
    variants: list[str] | None = None

    def is_of(self, variant: str) -> bool:
        """Whether it is tried for a variant."""
        return self.variants is None or variant in self.variants


class Edge(Config):
    """A chosen number that is the smallest or the largest of those tried: a better one may lie beyond it.

    `end` is that of the range where the number lies near it.
    """

    label: str
    value: int | float
    side: Literal["smallest", "largest"]
    end: int | float | None = None


class TunedVariant(Config):
    """All candidates that were tried for a variant, in their order, and the best; of equals the first."""

    variant: str
    settings: dict[str, Any]
    chosen: str
    edges: list[Edge]
    trials: list[PointScore]

    def best(self) -> PointScore:
        """The candidate that was chosen."""
        return next(point for point in self.trials if point.name == self.chosen)

    def at_rung(self, number: int) -> list[PointScore]:
        """The candidates that were scored at a rung, by its number from 0."""
        return [point for point in self.trials if len(point.rungs) > number]


class Tuning(Config):
    """The best settings of every variant on validation, by one search for all; the test split was not read.

    `halving` is given where candidates were pruned.
    """

    method: Method = "grid"
    split: Literal["validation"] = "validation"
    seeds: list[int]
    axes: list[Axis]
    variants: list[TunedVariant]
    halving: Halving | None = None

    def of(self, variant: str) -> TunedVariant | None:
        """The part of one variant."""
        return next((tuned for tuned in self.variants if tuned.variant == variant), None)


def point_score(name: str, settings: Mapping[str, Any], per_seed: Sequence[SeedScore]) -> PointScore:
    """The score of a candidate from those of its seeds."""
    nats = [score.nats_per_token for score in per_seed if score.nats_per_token is not None]
    failures = [f"seed {score.seed}: {score.failure}" for score in per_seed if score.failure]
    return PointScore(
        settings=dict(settings),
        name=name,
        nats_per_token=math.fsum(nats) / len(nats) if len(nats) == len(per_seed) else None,
        reason="; ".join(failures) or None,
        per_seed=list(per_seed),
        rungs=_rung_means(per_seed),
    )


def _rung_means(per_seed: Sequence[SeedScore]) -> list[RungMean]:
    """Of the rungs that all seeds have reached."""
    scores = list(zip(*(score.rungs for score in per_seed), strict=False))
    return [
        RungMean(step=at_one[0].step, nats_per_token=math.fsum(each.nll / each.tokens for each in at_one) / len(at_one))
        for at_one in scores
    ]


def tuned_variant(variant: str, points: Sequence[PointScore], axes: Sequence[Axis]) -> TunedVariant:
    """The best of a variant's candidates, of which one at least came to its end."""
    best = min(points, key=lambda point: point.loss)
    edges = list(edges_of(variant, best.settings, axes))
    return TunedVariant(variant=variant, settings=best.settings, chosen=best.name, edges=edges, trials=list(points))


def edges_of(variant: str, settings: Mapping[str, Any], axes: Sequence[Axis]) -> Iterator[Edge]:
    """The chosen numbers beyond which nothing was tried, or hardly anything; 0 is no edge, nothing lies below it.

    Axes of whole numbers and fractions mixed have no edges: the ones are steps, the others parts of a run.
    """
    for axis in axes:
        if axis.is_of(variant):
            yield from (_edge_of_range if axis.range else _edge_of_list)(axis, settings[axis.key])


def _edge_of_list(axis: Axis, value: Any) -> Iterator[Edge]:
    values = axis.values
    kinds = {type(value) for value in values if value != 0}
    if len(values) < 2 or kinds not in ({int}, {float}):
        return
    if value == max(values):
        yield Edge(label=axis.label, value=value, side="largest")
    elif value == min(values) and value != 0:
        yield Edge(label=axis.label, value=value, side="smallest")


def _edge_of_range(axis: Axis, value: Any) -> Iterator[Edge]:
    """Within 5 % of the range from an end, on its scale; of a range with steps, at the end itself."""
    assert axis.range is not None
    low, high = axis.range.ends()
    near = 0 if axis.range.step is not None else NEAR_AN_END
    if value == high or axis.range.share(value) > 1 - near:
        yield Edge(label=axis.label, value=value, side="largest", end=high)
    elif low != 0 and (value == low or axis.range.share(value) < near):
        yield Edge(label=axis.label, value=value, side="smallest", end=low)


def settings_in_words(settings: Mapping[str, Any], axes: Sequence[Axis]) -> str:
    """ "learning_rate=0.002, input_scale=sqrt_dim"."""
    labels = {axis.key: axis.label for axis in axes}
    shown = {key: value if isinstance(value, str) else json.dumps(value) for key, value in settings.items()}
    return ", ".join(f"{labels[key]}={value}" for key, value in shown.items())


def choice_in_words(tuned: TunedVariant, axes: Sequence[Axis]) -> str:
    """A sentence: what was chosen for a variant, out of how many."""
    nats, name = tuned.best().nats_per_token, settings_in_words(tuned.settings, axes)
    return f"{tuned.variant}: {name}, the best of {len(tuned.trials)} ({nats:.4f} nats per token of validation)"


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
        place = "is" if edge.end in (None, edge.value) else f"is near {edge.end:g},"
        yield f"{edge.label} {edge.value:g} {place} the {edge.side} tried, the best may lie beyond it"


def _diverged(tuned: TunedVariant) -> Iterator[str]:
    diverged = sum(point.diverged for point in tuned.trials)
    if diverged:
        yield f"{diverged} of {len(tuned.trials)} settings diverged"
