"""Recompute what a finished run or experiment reports from what lies beside it. Free of torch.

A run's sums come from the scores of its tokens, its course from metrics.jsonl; a comparison is made anew from the
results, and its intervals over documents from the scores again. What depends on the text, the start or the machine is
taken as it is stored: the folder does not hold them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tiedlm.comparison.answer import answer_from, read_outcomes
from tiedlm.comparison.checks import Checks, Failed
from tiedlm.comparison.comparison import COMPARISON_FILE, EDITION, Comparison, load_comparison
from tiedlm.comparison.pooling import UnlikeRunsError
from tiedlm.comparison.question import question_of
from tiedlm.comparison.verify_run import check_run, finished_result
from tiedlm.comparison.verify_tuning import check_tuning, trial_folders
from tiedlm.config.base import Config, ConfigError, Problem
from tiedlm.run.folder import RunFolder, run_folders

TAKEN_AS_STORED = (
    "words and bytes of the text, unigram nll, parts of the model, hashes, memory, steady speed, versions, and in "
    "metrics.jsonl the steps between the first, the validations and the last"
)
EARLIER_WORDS = "the sentences of the comparison, which an earlier edition of the program wrote"
CHECKED_APART = ("sources", "edition", "tuning")
"""Keys of comparison.json that a comparison made anew does not have, or has from the stored one."""


class Verified(Config):
    """How many numbers (and other values) were recomputed over how many runs, and each that does not hold."""

    folder: str
    num_runs: int
    num_numbers: int
    num_words: int
    failed: list[Failed]
    not_checked: list[str]


def verify(folder: Path) -> Verified:
    """Check the folder of a run or an experiment.

    Raises ConfigError where a file is missing, RunError where a result cannot be read.
    """
    checks = Checks()
    if RunFolder(folder).config_file.is_file():
        require([RunFolder(folder).result_file])
        runs = [RunFolder(folder)]
        check_runs(folder, runs, checks)
        return _verified(folder, runs, checks, [TAKEN_AS_STORED])
    stored = load_comparison(folder)
    compared = _compared_runs(folder, stored)
    runs = [*(run for run in compared if run.result_file.is_file()), *_scored_trials(folder, stored)]
    check_runs(folder, runs, checks)
    checks.words = stored.edition == EDITION
    _check_comparison(folder, compared, stored, checks)
    if stored.tuning is not None:
        check_tuning(folder, stored, stored.tuning, checks)
    return _verified(folder, runs, checks, [TAKEN_AS_STORED, *([] if checks.words else [EARLIER_WORDS])])


def _verified(folder: Path, runs: Sequence[RunFolder], checks: Checks, not_checked: list[str]) -> Verified:
    return Verified(
        folder=str(folder),
        num_runs=len(runs),
        num_numbers=checks.num_numbers,
        num_words=checks.num_words,
        failed=checks.failed,
        not_checked=not_checked,
    )


def require(files: Sequence[Path]) -> None:
    """Raise ConfigError that names each file that is missing."""
    missing = [file for file in files if not file.is_file()]
    if missing:
        raise ConfigError(
            *(Problem("", f"{file} is not there, so that nothing can be checked by it") for file in missing)
        )


def _compared_runs(home: Path, stored: Comparison) -> list[RunFolder]:
    """Those that the comparison was made of; where it does not name them, all that are there."""
    files = [home / key for key in digests_of_runs(stored.sources)]
    require(files)
    return [RunFolder(path) for path in dict.fromkeys(file.parent for file in files)] or run_folders(home)


def digests_of_runs(sources: Mapping[str, str]) -> dict[str, str]:
    """Those of the results and failures among the sources of a comparison."""
    return {key: digest for key, digest in sources.items() if key != "question"}


def _scored_trials(home: Path, stored: Comparison) -> list[RunFolder]:
    trials = list(trial_folders(home, stored.tuning)) if stored.tuning else []
    require([trial.result_file for trial in trials])
    return trials


def check_runs(folder: Path, runs: Sequence[RunFolder], checks: Checks) -> None:
    """Check finished runs in `folder`; all files are asked for before any is checked."""
    require([file for run in runs for file in _files_to_check_by(run)])
    for run in runs:
        check_run(run, str(run.result_file.relative_to(folder)), checks)


def _files_to_check_by(run: RunFolder) -> Iterator[Path]:
    yield from (run.config_file, run.metrics_file)
    yield from (run.evaluation_file(split) for split in finished_result(run).splits)


def _check_comparison(home: Path, runs: Sequence[RunFolder], stored: Comparison, checks: Checks) -> None:
    """Make the comparison anew and hold the stored one, as it lies on disk, against it."""
    outcomes = read_outcomes(runs)
    try:
        recomputed = answer_from(outcomes, question_of(stored)).model_dump(mode="json")
    except UnlikeRunsError as error:
        checks.failed.append(Failed(file=COMPARISON_FILE, key="variants", stored="pooled", recomputed=str(error)))
        return
    document: dict[str, Any] = json.loads((home / COMPARISON_FILE).read_bytes())
    reported = {key: value for key, value in document.items() if key not in CHECKED_APART}
    checks.check(COMPARISON_FILE, reported, recomputed)
    check_sources(stored.sources, {outcome.key: outcome.sha256 for outcome in outcomes}, checks)


def check_sources(stored: Mapping[str, str], digests: Mapping[str, str], checks: Checks) -> None:
    """The files that a comparison was made of are those that are there."""
    for key, digest in digests_of_runs(stored).items():
        if digests.get(key) != digest:
            failed = Failed(file=COMPARISON_FILE, key=f"sources.{key}", stored=digest, recomputed=digests.get(key))
            checks.failed.append(failed)
