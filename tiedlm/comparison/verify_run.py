"""Recompute what a run's result reports from the scores of its tokens, metrics.jsonl and its config. Free of torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tiedlm.comparison.checks import Checks, Failed
from tiedlm.comparison.stored_scores import UnusableScoresError, unusable_if_unreadable
from tiedlm.config.base import first_difference, parse
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder
from tiedlm.run.metrics import MetricsFile
from tiedlm.run.result import CurvePoint, RunResult
from tiedlm.training.record import StepRecord


def finished_result(run: RunFolder) -> RunResult:
    """The result of a run that has one."""
    result = run.result()
    assert result is not None
    return result


def check_run(run: RunFolder, file: str, checks: Checks) -> None:
    """Check the result of a finished run, which is called `file`."""
    result = finished_result(run)
    sums = {split: _sums(run.evaluation_file(split)) for split in result.splits}
    for split, recomputed in sums.items():
        checks.check(file, result.splits[split].model_dump(include={*recomputed}), recomputed, f"splits.{split}")
    course = _course_in_metrics(run.metrics_file, sums)
    checks.check(file, {key: value for key, value in _course_in_result(result).items() if key in course}, course)
    parts = result.parameters.parts
    counts = {"total": sum(parts.values()), "non_embedding": parts["body"] + parts["final_norm"]}
    checks.check(file, result.parameters.model_dump(include={*counts}), counts, "parameters")
    types = run.vocabulary_file
    if types.is_file():
        seen = {"targets": result.tokens_seen, "inputs": result.tokens_seen}
        checks.check(f"{file.removesuffix('result.json')}evaluation/{types.name}", _counts_of_types(types), seen)
    _check_config(run.config(), result, file, checks)
    data = run.data_record()
    if data is not None and run.data_file.is_file():
        stored = {"corpus": data.corpus, "tokens": data.tokens}
        checks.check(f"{file.removesuffix('result.json')}{run.data_file.name}", stored, result.hashes.model_dump())


def _check_config(config: RunConfig, result: RunResult, file: str, checks: Checks) -> None:
    """The config in the result is that of the run's folder, and the result's names are those of the config."""
    names = {"variant": result.variant, "seed": result.seed, "tying": result.tying}
    checks.check(file, names, {"variant": config.variant, "seed": config.seed, "tying": config.model.tying.type})
    difference = first_difference(parse(RunConfig, result.config, file, "config"), config)
    if difference:
        key, one, other = difference
        checks.failed.append(Failed(file=file, key=f"config.{key}", stored=repr(one), recomputed=repr(other)))


def _sums(path: Path) -> dict[str, float | int | str]:
    """What the scores of a split's tokens add up to; where they cannot be read, a sentence in place of the nll."""
    import numpy as np

    try:
        with unusable_if_unreadable(path.name), np.load(path) as scores:
            nll, document = scores["nll"], scores["document"]
    except UnusableScoresError:
        return {"nll": f"{path.name} cannot be read"}
    return {
        "nll": float(nll.sum(dtype=np.float64)),
        "tokens": len(nll),
        "documents": len(np.unique(document)),
    }


def _counts_of_types(path: Path) -> dict[str, int | str]:
    """How many tokens the counts of all types add up to, as targets and as inputs."""
    import numpy as np

    try:
        with unusable_if_unreadable(path.name), np.load(path) as types:
            return {"targets": int(types["targets"].sum()), "inputs": int(types["inputs"].sum())}
    except UnusableScoresError:
        return {"targets": f"{path.name} cannot be read"}


def _course_in_result(result: RunResult) -> dict[str, Any]:
    """What a result says of its training that stands in metrics.jsonl too."""
    return {
        "steps": result.steps,
        "tokens_seen": result.tokens_seen,
        "first_loss": result.first_loss,
        "last_loss": result.last_loss,
        "seconds": round(result.seconds, 4),  # as they stand there
        **({"validation_curve": list(map(_rounded, result.validation_curve))} if result.validation_curve else {}),
        **({"update_ratios": result.update_ratios.model_dump()} if result.update_ratios else {}),
    }


def _course_in_metrics(path: Path, sums: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The same from the lines of metrics.jsonl, with the end of the curve from the scores of the validation split."""
    try:
        metrics = MetricsFile(path)
        steps = [record for record in metrics.records() if isinstance(record, StepRecord)]
        if not steps or [record.step for record in steps] != list(range(1, len(steps) + 1)):
            return {"steps": f"{path.name} does not hold every step once"}
        course = {"steps": len(steps), "tokens_seen": steps[-1].tokens, "seconds": steps[-1].seconds}
        losses = {"first_loss": steps[0].loss, "last_loss": steps[-1].loss}
        curve, ratios = list(map(_rounded, metrics.curve())), metrics.update_ratios()
    except (ValueError, KeyError, TypeError):
        return {"steps": f"{path.name} cannot be read"}
    scored = sums.get("validation", {})
    nats = scored["nll"] / scored["tokens"] if scored.get("tokens") and "nll" in scored else None
    end = {"step": len(steps), "tokens": course["tokens_seen"], "seconds": course["seconds"], "nats_per_token": nats}
    measured = {"update_ratios": ratios.model_dump() if ratios else f"{path.name} has none"}
    return {**course, **losses, "validation_curve": [*curve, end], **measured}


def _rounded(point: CurvePoint) -> dict[str, Any]:
    return {**point.model_dump(), "seconds": round(point.seconds, 4)}
