"""Recompute what a finished run or experiment reports from what lies beside it. Free of torch.

A run's sums come from the scores of its tokens, its course from metrics.jsonl; a comparison is made anew from the
results, and its intervals over documents from the scores again. What hangs on the text, the start or the machine is
taken as it is stored: the folder does not hold them.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiedlm.comparison.checks import Checks, Failed
from tiedlm.comparison.comparison import COMPARISON_FILE, EDITION, Comparison, load_comparison
from tiedlm.comparison.question import Question, make, read_outcomes
from tiedlm.comparison.verify_tuning import check_tuning, trial_folders
from tiedlm.config.base import Config, ConfigError, Problem, first_difference, parse
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder, run_folders
from tiedlm.run.metrics import MetricsFile
from tiedlm.run.result import CurvePoint, RunResult
from tiedlm.training.record import StepRecord

TAKEN_AS_STORED = (
    "words and bytes of the text, unigram nll, parts of the model, hashes, memory, steady speed, versions, and in "
    "metrics.jsonl the steps between the first, the validations and the last"
)


class Verified(Config):
    """How many numbers (and other values) were recomputed over how many runs, and each that does not hold."""

    folder: str
    num_runs: int
    num_numbers: int
    num_words: int
    failed: list[Failed]
    not_checked: list[str]


def verify(folder: Path) -> Verified:
    """Check the folder of a run or an experiment; raises ConfigError where a file is missing.

    Raises RunError where a result is none.
    """
    if RunFolder(folder).config_file.is_file():
        _require([RunFolder(folder).result_file])
        return _verified(folder, [RunFolder(folder)], None)
    stored = load_comparison(folder)
    return _verified(folder, _runs_of(folder, stored), stored)


def _verified(folder: Path, runs: Sequence[RunFolder], stored: Comparison | None) -> Verified:
    finished = [run for run in runs if run.result_file.is_file()]
    tuning = stored.tuning if stored else None
    if tuning is not None:
        trials = list(trial_folders(folder, tuning))
        _require([trial.result_file for trial in trials])
        finished += trials
    checks, not_checked = Checks(), [TAKEN_AS_STORED]
    _require([file for run in finished for file in (run.config_file, run.metrics_file, *_score_files(run))])
    for run in finished:
        _check_run(run, str(run.result_file.relative_to(folder)), checks)
    if stored is not None:
        if stored.edition != EDITION:
            checks.words = False
            not_checked.append("the sentences of the comparison, which an earlier edition of the program wrote")
        _check_comparison(folder, runs, stored, checks)
    if stored is not None and tuning is not None:
        check_tuning(folder, stored, tuning, checks)
    return Verified(
        folder=str(folder),
        num_runs=len(finished),
        num_numbers=checks.num_numbers,
        num_words=checks.num_words,
        failed=checks.failed,
        not_checked=not_checked,
    )


def _require(files: Sequence[Path]) -> None:
    missing = [file for file in files if not file.is_file()]
    if missing:
        raise ConfigError(
            *(Problem("", f"{file} is not there, so that nothing can be checked by it") for file in missing)
        )


def _runs_of(home: Path, stored: Comparison) -> list[RunFolder]:
    """Those that the comparison was made of; of one that does not say, all that are there."""
    files = [home / key for key in stored.sources if key != "question"]
    _require(files)
    return [RunFolder(path) for path in dict.fromkeys(file.parent for file in files)] or run_folders(home)


def _score_files(run: RunFolder) -> list[Path]:
    return [run.evaluation_file(split) for split in _result(run).splits]


def _result(run: RunFolder) -> RunResult:
    result = run.result()
    assert result is not None  # asked of finished runs alone
    return result


def _check_run(run: RunFolder, file: str, checks: Checks) -> None:
    result = _result(run)
    sums = {split: _sums(run.evaluation_file(split)) for split in result.splits}
    for split, found in sums.items():
        checks.check(file, result.splits[split].model_dump(include={*found}), found, f"splits.{split}")
    course = _course_in(run.metrics_file, sums)
    checks.check(file, {key: value for key, value in _course(result).items() if key in course}, course)
    parts = result.parameters.parts
    counts = {"total": sum(parts.values()), "non_embedding": parts["body"] + parts["final_norm"]}
    checks.check(file, result.parameters.model_dump(include={*counts}), counts, "parameters")
    types = run.vocabulary_file
    if types.is_file():
        seen = {"targets": result.tokens_seen, "inputs": result.tokens_seen}
        checks.check(f"{file.removesuffix('result.json')}evaluation/{types.name}", _counted(types), seen)
    config, asked = run.config(), parse(RunConfig, result.config, file, "config")
    told = {"variant": result.variant, "seed": result.seed, "tying": result.tying}
    checks.check(file, told, {"variant": config.variant, "seed": config.seed, "tying": config.model.tying.type})
    difference = first_difference(asked, config)
    if difference:
        key, one, other = difference
        checks.failed.append(Failed(file=file, key=f"config.{key}", stored=repr(one), recomputed=repr(other)))


def _sums(path: Path) -> dict[str, float | int | str]:
    """Of the scores of a split's tokens; of those that cannot be read, that."""
    import zipfile

    import numpy as np

    try:
        with np.load(path) as scores:
            nll, document = scores["nll"], scores["document"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return {"nll": f"{path.name} cannot be read"}
    return {
        "nll": float(nll.sum(dtype=np.float64)),
        "tokens": len(nll),
        "documents": len(np.unique(document)),
    }


def _counted(path: Path) -> dict[str, int | str]:
    """How many tokens the counts of all types come to, in either role."""
    import zipfile

    import numpy as np

    try:
        with np.load(path) as types:
            return {"targets": int(types["targets"].sum()), "inputs": int(types["inputs"].sum())}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return {"targets": f"{path.name} cannot be read"}


def _course(result: RunResult) -> dict[str, Any]:
    """What a result says of its training that stands in metrics.jsonl too."""
    return {
        "steps": result.steps,
        "tokens_seen": result.tokens_seen,
        "first_loss": result.first_loss,
        "last_loss": result.last_loss,
        "seconds": round(result.seconds, 4),  # as they stand there
        **({"validation_curve": list(map(_rounded, result.validation_curve))} if result.validation_curve else {}),
    }


def _course_in(path: Path, sums: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The same from the lines of metrics.jsonl, with the end of the curve from the scores of the validation split."""
    try:
        metrics = MetricsFile(path)
        steps = [record for record in metrics.records() if isinstance(record, StepRecord)]
        if not steps or [record.step for record in steps] != list(range(1, len(steps) + 1)):
            return {"steps": f"{path.name} does not hold every step once"}
        course = {"steps": len(steps), "tokens_seen": steps[-1].tokens, "seconds": steps[-1].seconds}
        losses = {"first_loss": steps[0].loss, "last_loss": steps[-1].loss}
        curve = list(map(_rounded, metrics.curve()))
    except (ValueError, KeyError, TypeError):
        return {"steps": f"{path.name} cannot be read"}
    scored = sums.get("validation", {})
    nats = scored["nll"] / scored["tokens"] if scored.get("tokens") and "nll" in scored else None
    end = {"step": len(steps), "tokens": course["tokens_seen"], "seconds": course["seconds"], "nats_per_token": nats}
    return {**course, **losses, "validation_curve": [*curve, end]}


def _rounded(point: CurvePoint) -> dict[str, Any]:
    return {**point.model_dump(), "seconds": round(point.seconds, 4)}


def _check_comparison(home: Path, runs: Sequence[RunFolder], stored: Comparison, checks: Checks) -> None:
    outcomes = read_outcomes(runs)
    question = Question(
        stored.experiment,
        stored.baseline,
        tuple(variant.name for variant in stored.variants),
        _still_to_come(stored),
        stored.primary,
        stored.smallest_worthwhile,
        stored.tuning,
    )
    made = make(outcomes, question).model_dump(mode="json")
    reported: Mapping[str, Any] = json.loads((home / COMPARISON_FILE).read_bytes())
    apart = ("sources", "edition", "tuning")
    checks.check(COMPARISON_FILE, {key: reported[key] for key in reported if key not in apart}, made)
    hashes = {outcome.key: outcome.sha256 for outcome in outcomes}
    told = {key: digest for key, digest in stored.sources.items() if key != "question"}
    for key, digest in told.items():
        if hashes.get(key) != digest:
            checks.failed.append(
                Failed(file=COMPARISON_FILE, key=f"sources.{key}", stored=digest, recomputed=hashes.get(key))
            )


def _still_to_come(stored: Comparison) -> dict[str, tuple[int, ...]]:
    seeds: dict[str, tuple[int, ...]] = {}
    for run in stored.pending:
        seeds[run.variant] = (*seeds.get(run.variant, ()), run.seed)
    return seeds
