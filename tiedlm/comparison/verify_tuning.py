"""Recompute what a tuning reports from the configs and results of its trials. Free of torch."""

from collections.abc import Iterator
from pathlib import Path

from tiedlm.comparison.checks import Checks
from tiedlm.comparison.comparison import COMPARISON_FILE, Comparison
from tiedlm.config.base import parse
from tiedlm.evaluation.measures import nats_per_token
from tiedlm.evaluation.statistics import mean
from tiedlm.experiment.grid import settings_name, settings_of
from tiedlm.experiment.plan_tuning import axes_of
from tiedlm.experiment.tuning import PointScore, SeedScore, TunedVariant, Tuning, edges_of
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Layout


def trial_folders(home: Path, tuning: Tuning) -> Iterator[RunFolder]:
    """The folders of all trials that came to a score, in an experiment's folder."""
    for tuned in tuning.variants:
        for trial in tuned.trials:
            yield from (_folder(home, tuned.variant, trial, one) for one in trial.per_seed if one.nll is not None)


def check_tuning(home: Path, stored: Comparison, tuning: Tuning, checks: Checks) -> None:
    """What was tried and what came of it, which of it is the best, and that the runs were made with that."""
    tried = {tuned.variant: [_trial_again(home, tuned, trial) for trial in tuned.trials] for tuned in tuning.variants}
    axes = axes_of([trial.settings for trial in next(iter(tried.values()))])
    variants = []
    for variant, trials in tried.items():
        best = min(trials, key=lambda trial: trial.loss)
        edges = list(edges_of(best.settings, axes))
        variants.append(
            TunedVariant(variant=variant, settings=best.settings, chosen=best.name, edges=edges, trials=trials)
        )
    again = Tuning(seeds=[one.seed for one in variants[0].trials[0].per_seed], axes=axes, variants=variants)
    checks.check(COMPARISON_FILE, tuning.model_dump(mode="json"), again.model_dump(mode="json"), "tuning")
    for summary in stored.variants:
        tuned = again.of(summary.name)
        if tuned is not None and summary.config:
            config = parse(RunConfig, summary.config, COMPARISON_FILE, f"variants[{summary.name}].config")
            trained = settings_of(config, list(tuned.settings))
            checks.check(COMPARISON_FILE, trained, tuned.settings, f"variants[{summary.name}].config")


def _folder(home: Path, variant: str, trial: PointScore, one: SeedScore) -> RunFolder:
    return RunFolder(Layout(home).tuning_run_dir(variant, trial.name, one.seed))


def _trial_again(home: Path, tuned: TunedVariant, trial: PointScore) -> PointScore:
    folders = [_folder(home, tuned.variant, trial, one) for one in trial.per_seed]
    made = [_seed_again(folder) for folder in folders]
    settings = settings_of(folders[0].config(), list(trial.settings))
    nats = [one.nats_per_token for one in made if one.nats_per_token is not None]
    failures = [f"seed {one.seed}: {one.failure}" for one in made if one.nats_per_token is None]
    return PointScore(
        settings=settings,
        name=settings_name(settings),
        nats_per_token=None if failures else mean(nats),
        reason="; ".join(failures) or None,
        per_seed=made,
    )


def _seed_again(folder: RunFolder) -> SeedScore:
    result, failure = folder.result(), folder.failure()
    seed = folder.config().seed
    if result is None:
        told = failure.message if failure else "nothing came of it"
        return SeedScore(seed=seed, nll=None, tokens=None, nats_per_token=None, failure=told)
    scored = result.splits["validation"]
    nats = nats_per_token(scored.nll, scored.tokens)
    return SeedScore(seed=seed, nll=scored.nll, tokens=scored.tokens, nats_per_token=nats)
