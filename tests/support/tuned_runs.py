"""Comparisons of runs whose settings were searched before, with scores made by hand."""

from collections.abc import Sequence
from typing import Any

from tiedlm.experiment.tuning import Axis, PointScore, SeedScore, Tuning, tuned_variant

RATE = "training.learning_rate"


def point(settings: dict[str, Any], nats: float | None) -> PointScore:
    """One that cost so much with seed 100; None diverged."""
    score = SeedScore(seed=100, nll=None if nats is None else 1e4 * nats, tokens=10_000, nats_per_token=nats)
    name = "+".join(f"{key.rpartition('.')[2]}={value}" for key, value in settings.items())
    return PointScore(settings=settings, name=name, nats_per_token=nats, per_seed=[score])


def search(points: Sequence[dict[str, Any]], **nats_of: Sequence[float | None]) -> Tuning:
    """The same points for each variant, with the scores of each; the best is chosen."""
    values_of = {key: list(dict.fromkeys(each[key] for each in points)) for key in points[0]}
    axes = [Axis(key=key, label=key.rpartition(".")[2], values=values) for key, values in values_of.items()]
    variants = [
        tuned_variant(variant, [point(settings, score) for settings, score in zip(points, nats, strict=True)], axes)
        for variant, nats in nats_of.items()
    ]
    return Tuning(seeds=[100], axes=axes, variants=variants)


def rates(*values: float) -> list[dict[str, Any]]:
    """A grid of learning rates alone."""
    return [{RATE: value} for value in values]
