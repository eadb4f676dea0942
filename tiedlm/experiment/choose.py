"""From the outcomes of trials to the settings of each variant. Pure, and free of torch."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tiedlm.errors import RunError
from tiedlm.evaluation.measures import nats_per_token
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.plan_tuning import trial
from tiedlm.experiment.search import Candidate, Search
from tiedlm.experiment.tuning import PointScore, SeedScore, Tuning, point_score, tuned_variant
from tiedlm.run.layout import Run
from tiedlm.run.result import RunFailure, RunResult
from tiedlm.run.rung import RungRecord

Outcomes = Mapping[Path, RunResult | RunFailure | RungRecord]
"""How each trial ended, by its folder: a pruned one with the scores that it had."""
Rungs = Mapping[Path, RungRecord]
"""What trials scored on the way, by their folders."""


def choose(experiment: Experiment, outcomes: Outcomes, runs_dir: Path, rungs: Rungs | None = None) -> Tuning:
    """The candidate of each variant with the lowest mean validation nats per token over the seeds; of equals the first.

    A trial that diverged is infinitely bad. Raises RunError where all of a variant's did, and where one failed for
    another reason: the variants would not have been tried alike.
    """
    search = experiment.search
    assert search is not None
    scores = {
        variant: [score_of(candidate, variant, search, outcomes, runs_dir, rungs or {}) for candidate in candidates]
        for variant, candidates in search.candidates.items()
    }
    for variant, points in scores.items():
        if all(point.nats_per_token is None for point in points):
            place = "tune.grid" if search.method == "grid" else "tune.space"
            message = f"{variant}: every one of its {len(points)} trials diverged; change {place}"
            raise RunError("diverged", message)
    return Tuning(
        method=search.method,
        seeds=list(search.seeds),
        axes=list(search.axes),
        variants=[tuned_variant(variant, points, search.axes) for variant, points in scores.items()],
        halving=search.halving,
    )


def tuned(experiment: Experiment, tuning: Tuning) -> Experiment:
    """Each variant of the file with the settings chosen for it; variants that a plan adds are made of these."""
    assert experiment.search is not None
    variants = {
        variant: next(one.config for one in candidates if one.name == chosen.chosen)
        for variant, candidates in experiment.search.candidates.items()
        if (chosen := tuning.of(variant)) is not None
    }
    return replace(experiment, variants=variants, tuning=tuning)


def score_of(
    candidate: Candidate, variant: str, search: Search, outcomes: Outcomes, runs_dir: Path, rungs: Rungs
) -> PointScore:
    """What a candidate scored with all seeds; raises RunError where a trial failed other than by diverging."""
    runs = [trial(candidate, variant, seed, runs_dir) for seed in search.seeds]
    per_seed = [_seed_score(run, outcomes[run.directory], rungs.get(run.directory)) for run in runs]
    return point_score(candidate.name, candidate.settings, per_seed)


def _seed_score(run: Run, outcome: RunResult | RunFailure | RungRecord, rungs: RungRecord | None) -> SeedScore:
    seed, on_the_way = run.config.seed, rungs.scores if rungs else []
    if isinstance(outcome, RunResult):
        scored = outcome.splits["validation"]
        nats = nats_per_token(scored.nll, scored.tokens)
        return SeedScore(seed=seed, nll=scored.nll, tokens=scored.tokens, nats_per_token=nats, rungs=on_the_way)
    if isinstance(outcome, RungRecord):
        return SeedScore(seed=seed, nll=None, tokens=None, nats_per_token=None, rungs=outcome.scores)
    check_failure(run, outcome)
    return SeedScore(seed=seed, nll=None, tokens=None, nats_per_token=None, failure=outcome.message, rungs=on_the_way)


def check_failure(run: Run, failure: RunFailure) -> None:
    """Raise RunError where a trial failed other than by diverging."""
    if failure.kind != "diverged":
        message = f"{run.label}: {failure.message}; without this trial the variants were not tried alike"
        raise RunError(failure.kind, message)
