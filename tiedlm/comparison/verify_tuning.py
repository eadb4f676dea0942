"""Recompute what a tuning reports from the configs and results of its trials. Free of torch."""

from collections.abc import Iterator
from pathlib import Path

from tiedlm.comparison.checks import Checks
from tiedlm.comparison.comparison import COMPARISON_FILE, Comparison
from tiedlm.comparison.statistics import mean
from tiedlm.config.base import parse
from tiedlm.evaluation.measures import nats_per_token
from tiedlm.experiment.grid import settings_name, settings_of
from tiedlm.experiment.plan_tuning import axes_of
from tiedlm.experiment.tuning import Axis, PointScore, SeedScore, TunedVariant, Tuning, edges_of
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Layout


def trial_folders(home: Path, tuning: Tuning) -> Iterator[RunFolder]:
    """The folders of all trials that came to a score, in an experiment's folder."""
    for tuned in tuning.variants:
        for trial in tuned.trials:
            yield from (_folder(home, tuned.variant, trial, one) for one in trial.per_seed if one.nll is not None)


def check_tuning(home: Path, stored: Comparison, tuning: Tuning, checks: Checks) -> None:
    """Check every trial and its score, which of them is the best, and that the runs were made with its settings."""
    recomputed = _recomputed_tuning(home, tuning)
    checks.check(COMPARISON_FILE, tuning.model_dump(mode="json"), recomputed.model_dump(mode="json"), "tuning")
    for summary in stored.variants:
        tuned = recomputed.of(summary.name)
        if tuned is not None and summary.config:
            key = f"variants[{summary.name}].config"
            trained_with = settings_of(parse(RunConfig, summary.config, COMPARISON_FILE, key), list(tuned.settings))
            checks.check(COMPARISON_FILE, trained_with, tuned.settings, key)


def _recomputed_tuning(home: Path, tuning: Tuning) -> Tuning:
    trials_of = {
        tuned.variant: [_recomputed_trial(home, tuned, trial) for trial in tuned.trials] for tuned in tuning.variants
    }
    some_trials = next(iter(trials_of.values()))
    axes = axes_of([trial.settings for trial in some_trials])
    variants = [_recomputed_choice(variant, trials, axes) for variant, trials in trials_of.items()]
    return Tuning(seeds=[one.seed for one in some_trials[0].per_seed], axes=axes, variants=variants)


def _recomputed_choice(variant: str, trials: list[PointScore], axes: list[Axis]) -> TunedVariant:
    best = min(trials, key=lambda trial: trial.loss)
    edges = list(edges_of(best.settings, axes))
    return TunedVariant(variant=variant, settings=best.settings, chosen=best.name, edges=edges, trials=trials)


def _folder(home: Path, variant: str, trial: PointScore, one: SeedScore) -> RunFolder:
    return RunFolder(Layout(home).tuning_run_dir(variant, trial.name, one.seed))


def _recomputed_trial(home: Path, tuned: TunedVariant, trial: PointScore) -> PointScore:
    folders = [_folder(home, tuned.variant, trial, one) for one in trial.per_seed]
    per_seed = [_recomputed_seed(folder) for folder in folders]
    settings = settings_of(folders[0].config(), list(trial.settings))
    nats = [one.nats_per_token for one in per_seed if one.nats_per_token is not None]
    failures = [f"seed {one.seed}: {one.failure}" for one in per_seed if one.nats_per_token is None]
    return PointScore(
        settings=settings,
        name=settings_name(settings),
        nats_per_token=None if failures else mean(nats),
        reason="; ".join(failures) or None,
        per_seed=per_seed,
    )


def _recomputed_seed(folder: RunFolder) -> SeedScore:
    result, failure = folder.result(), folder.failure()
    seed = folder.config().seed
    if result is None:
        reason = failure.message if failure else "nothing came of it"
        return SeedScore(seed=seed, nll=None, tokens=None, nats_per_token=None, failure=reason)
    scored = result.splits["validation"]
    nats = nats_per_token(scored.nll, scored.tokens)
    return SeedScore(seed=seed, nll=scored.nll, tokens=scored.tokens, nats_per_token=nats)
