"""Recompute what a tuning reports from the configs, scores and results of its trials. Free of torch."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tiedlm.comparison.checks import Checks, Failed
from tiedlm.comparison.comparison import COMPARISON_FILE, Comparison
from tiedlm.config.base import parse
from tiedlm.evaluation.measures import nats_per_token
from tiedlm.experiment.grid import settings_name, settings_of, short_key
from tiedlm.experiment.halving import best
from tiedlm.experiment.tuning import Axis, PointScore, SeedScore, TunedVariant, Tuning, point_score, tuned_variant
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Layout
from tiedlm.run.metrics import MetricsFile
from tiedlm.run.rung import RungScore
from tiedlm.run.rungs import read_rungs


def trial_folders(home: Path, tuning: Tuning) -> Iterator[RunFolder]:
    """The folders of all trials that came to their end, in an experiment's folder."""
    for tuned in tuning.variants:
        for trial in tuned.trials:
            yield from (_folder(home, tuned.variant, trial, one) for one in trial.per_seed if one.nll is not None)


def check_tuning(home: Path, stored: Comparison, tuning: Tuning, checks: Checks) -> None:
    """Check every trial and its scores, which were pruned, which is the best, and that the runs have its settings."""
    recomputed = _recomputed_tuning(home, tuning)
    checks.check(COMPARISON_FILE, tuning.model_dump(mode="json"), recomputed.model_dump(mode="json"), "tuning")
    checks.failed.extend(fault for tuned in recomputed.variants for fault in _wrongly_pruned(tuned, recomputed))
    for summary in stored.variants:
        tuned = recomputed.of(summary.name)
        if tuned is not None and summary.config:
            key = f"variants[{summary.name}].config"
            trained_with = settings_of(parse(RunConfig, summary.config, COMPARISON_FILE, key), list(tuned.settings))
            checks.check(COMPARISON_FILE, trained_with, tuned.settings, key)


def _recomputed_tuning(home: Path, tuning: Tuning) -> Tuning:
    """What may be tried of a space, and when candidates are dropped, are taken as stored: no folder holds them."""
    trials_of = {
        tuned.variant: [_recomputed_trial(home, tuned, trial, tuning) for trial in tuned.trials]
        for tuned in tuning.variants
    }
    some_trials = next(iter(trials_of.values()))
    axes = _axes_of_grid(some_trials) if tuning.method == "grid" else tuning.axes
    return tuning.model_copy(
        update={
            "seeds": [one.seed for one in some_trials[0].per_seed],
            "axes": axes,
            "variants": [tuned_variant(variant, trials, axes) for variant, trials in trials_of.items()],
        }
    )


def _axes_of_grid(points: Sequence[PointScore]) -> list[Axis]:
    """The values of each setting, in the order of the grid's points."""
    values_of: dict[str, list[object]] = {}
    for point in points:
        for key, value in point.settings.items():
            values = values_of.setdefault(key, [])
            if value not in values:
                values.append(value)
    return [Axis(key=key, label=short_key(key), values=values) for key, values in values_of.items()]


def _folder(home: Path, variant: str, trial: PointScore, one: SeedScore) -> RunFolder:
    return RunFolder(Layout(home).tuning_run_dir(variant, trial.name, one.seed))


def _recomputed_trial(home: Path, tuned: TunedVariant, trial: PointScore, tuning: Tuning) -> PointScore:
    folders = [_folder(home, tuned.variant, trial, one) for one in trial.per_seed]
    per_seed = [_recomputed_seed(folder) for folder in folders]
    config = folders[0].config()
    settings = settings_of(config, list(trial.settings))
    name = settings_name(settings) if tuning.method == "grid" else config.variant
    return point_score(name, settings, per_seed)


def _recomputed_seed(folder: RunFolder) -> SeedScore:
    result, failure, seed, rungs = folder.result(), folder.failure(), folder.config().seed, _recomputed_rungs(folder)
    if result is None:
        reason = failure.message if failure else None if rungs else "nothing came of it"
        return SeedScore(seed=seed, nll=None, tokens=None, nats_per_token=None, failure=reason, rungs=rungs)
    scored = result.splits["validation"]
    nats = nats_per_token(scored.nll, scored.tokens)
    return SeedScore(seed=seed, nll=scored.nll, tokens=scored.tokens, nats_per_token=nats, rungs=rungs)


def _recomputed_rungs(folder: RunFolder) -> list[RungScore]:
    """The scores on the way, with the sums that metrics.jsonl has at these steps; 0 where it has none."""
    record, metrics = read_rungs(folder), MetricsFile(folder.metrics_file)
    found: list[RungScore] = []
    for score in record.scores if record else []:
        line = metrics.validation_at(score.step)
        sums = {"nll": line.nll, "tokens": line.num_tokens} if line else {"nll": 0.0, "tokens": 1}
        found.append(score.model_copy(update=sums))
    return found


def _wrongly_pruned(tuned: TunedVariant, tuning: Tuning) -> Iterator[Failed]:
    """Candidates that were pruned though they were among the best at their last rung."""
    if tuning.halving is None:
        return
    for rung, num in enumerate(tuning.halving.entrants(len(tuned.trials))[1:]):
        scored = tuned.at_rung(rung)
        for place in best([trial.rungs[rung].nats_per_token for trial in scored], num):
            trial = scored[place]
            if trial.pruned is not None and len(trial.rungs) == rung + 1:
                key = f"tuning.variants[{tuned.variant}].trials[{trial.name}]"
                yield Failed(file=COMPARISON_FILE, key=key, stored="pruned", recomputed="goes on")
