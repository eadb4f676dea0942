"""From a grid to tuning runs, and from their results to the settings of each variant. Pure, and free of torch."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiedlm.errors import RunError
from tiedlm.evaluation.measures import nats_per_token
from tiedlm.experiment.config import Candidate, Experiment, Search
from tiedlm.experiment.grid import settings_name, short_key
from tiedlm.experiment.tuning import Axis, PointScore, SeedScore, TunedVariant, Tuning, edges_of
from tiedlm.run.added import Added
from tiedlm.run.layout import Run
from tiedlm.run.result import RunFailure, RunResult

Outcomes = Mapping[Path, RunResult | RunFailure]
"""The outcome of each tuning run, by its folder."""


def plan_tuning(experiment: Experiment, runs_dir: Path) -> list[Run]:
    """Every tuning run: seeds outermost, then points, so that an interrupted search has tried the variants alike."""
    if experiment.search is None:
        return []
    rows = list(zip(*experiment.search.candidates.values(), strict=True))
    variants = list(experiment.search.candidates)
    return [
        _tuning_run(candidate, variant, seed, runs_dir)
        for seed in experiment.search.seeds
        for row in rows
        for variant, candidate in zip(variants, row, strict=True)
    ]


def choose(experiment: Experiment, outcomes: Outcomes, runs_dir: Path) -> Tuning:
    """The point with the lowest mean validation nats per token over the seeds, of equals the first, for each variant.

    A run that diverged is infinitely bad. Raises RunError where all of a variant's did, and where one failed for
    another reason: the variants would not have been tried alike.
    """
    search = experiment.search
    assert search is not None
    scores = {
        variant: [_point_score(candidate, variant, search, outcomes, runs_dir) for candidate in candidates]
        for variant, candidates in search.candidates.items()
    }
    axes = axes_of([candidate.settings for candidate in next(iter(search.candidates.values()))])
    return Tuning(
        seeds=list(search.seeds),
        axes=axes,
        variants=[_chosen(variant, points, axes) for variant, points in scores.items()],
    )


def tuned(experiment: Experiment, tuning: Tuning) -> Experiment:
    """Each variant of the file with the settings chosen for it; variants that a plan adds are made of these."""
    assert experiment.search is not None
    variants = {
        variant: next(one.config for one in candidates if settings_name(one.settings) == chosen.chosen)
        for variant, candidates in experiment.search.candidates.items()
        if (chosen := tuning.of(variant)) is not None
    }
    return replace(experiment, variants=variants, tuning=tuning)


def axes_of(points: Sequence[Mapping[str, Any]]) -> list[Axis]:
    """The values of each setting as the configs have them, in the order of the grid's points."""
    values_of: dict[str, list[Any]] = {}
    for point in points:
        for key, value in point.items():
            values = values_of.setdefault(key, [])
            if value not in values:
                values.append(value)
    return [Axis(key=key, label=short_key(key), values=values) for key, values in values_of.items()]


def _tuning_run(candidate: Candidate, variant: str, seed: int, runs_dir: Path) -> Run:
    changes = {"variant": settings_name(candidate.settings), "seed": seed, "added": Added(role="trial", of=variant)}
    return Run(candidate.config.model_copy(update=changes), runs_dir)


def _point_score(candidate: Candidate, variant: str, search: Search, outcomes: Outcomes, runs_dir: Path) -> PointScore:
    per_seed: list[SeedScore] = []
    for seed in search.seeds:
        run = _tuning_run(candidate, variant, seed, runs_dir)
        per_seed.append(_seed_score(run, outcomes[run.directory]))
    nats = [score.nats_per_token for score in per_seed if score.nats_per_token is not None]
    failures = [f"seed {score.seed}: {score.failure}" for score in per_seed if score.failure]
    return PointScore(
        settings=dict(candidate.settings),
        name=settings_name(candidate.settings),
        nats_per_token=None if failures else math.fsum(nats) / len(nats),
        reason="; ".join(failures) or None,
        per_seed=per_seed,
    )


def _seed_score(run: Run, outcome: RunResult | RunFailure) -> SeedScore:
    seed = run.config.seed
    if isinstance(outcome, RunResult):
        scored = outcome.splits["validation"]
        nats = nats_per_token(scored.nll, scored.tokens)
        return SeedScore(seed=seed, nll=scored.nll, tokens=scored.tokens, nats_per_token=nats)
    if outcome.kind != "diverged":
        message = f"{run.label}: {outcome.message}; without this trial the variants were not tried alike"
        raise RunError(outcome.kind, message)
    return SeedScore(seed=seed, nll=None, tokens=None, nats_per_token=None, failure=outcome.message)


def _chosen(variant: str, points: Sequence[PointScore], axes: Sequence[Axis]) -> TunedVariant:
    best = min(points, key=lambda point: point.loss)
    if best.nats_per_token is None:
        raise RunError("diverged", f"{variant}: every one of its {len(points)} trials diverged; change tune.grid")
    return TunedVariant(
        variant=variant,
        settings=best.settings,
        chosen=best.name,
        edges=list(edges_of(best.settings, axes)),
        trials=list(points),
    )
