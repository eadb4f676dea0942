"""Recompute what a tuning reports from the results of its trials. Free of torch."""

from collections.abc import Iterator
from pathlib import Path

from tiedlm.comparison.checks import Checks
from tiedlm.comparison.comparison import COMPARISON_FILE
from tiedlm.experiment.measures import nats_per_token
from tiedlm.experiment.plan import TUNING
from tiedlm.experiment.statistics import mean
from tiedlm.experiment.store import RunFolder
from tiedlm.experiment.tuning import Trial, TrialSeed, Tuning


def trial_folders(home: Path, tuning: Tuning) -> Iterator[RunFolder]:
    """The folders of all trials that came to a score, in an experiment's folder."""
    for tuned in tuning.variants:
        for trial in tuned.trials:
            yield from (_folder(home, tuned.variant, trial, one) for one in trial.per_seed if one.nll is not None)


def check_tuning(home: Path, tuning: Tuning, checks: Checks) -> None:
    """The scores of the trials, their means, and which of them is the best."""
    for tuned in tuning.variants:
        for trial in tuned.trials:
            made = [_again(_folder(home, tuned.variant, trial, one), one) for one in trial.per_seed]
            nats = [one.nats_per_token for one in made if one.nats_per_token is not None]
            average = mean(nats) if len(nats) == len(made) else None
            again = trial.model_copy(update={"per_seed": made, "nats_per_token": average})
            key = f"tuning.variants[{tuned.variant}].trials[{trial.name}]"
            checks.check(COMPARISON_FILE, trial.model_dump(mode="json"), again.model_dump(mode="json"), key)
        best = min(tuned.trials, key=lambda trial: trial.loss)
        checks.check(COMPARISON_FILE, tuned.chosen, best.name, f"tuning.variants[{tuned.variant}].chosen")


def _folder(home: Path, variant: str, trial: Trial, one: TrialSeed) -> RunFolder:
    return RunFolder(home / TUNING / variant / trial.name / f"seed-{one.seed}")


def _again(folder: RunFolder, stored: TrialSeed) -> TrialSeed:
    result = folder.result()
    if result is None:
        return stored  # it diverged
    scored = result.splits["validation"]
    nats = nats_per_token(scored.nll, scored.tokens)
    return stored.model_copy(update={"nll": scored.nll, "tokens": scored.tokens, "nats_per_token": nats})
