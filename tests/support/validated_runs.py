"""Results of runs that were validated on their way, with curves made by hand."""

from collections.abc import Sequence
from typing import Any

from tests.support.finished_runs import run_result
from tiedlm.run.result import CurvePoint, RunResult

CONSTANT = {"schedule": "constant"}


def validated_run(
    variant: str, curve: Sequence[tuple[int, float]], seed: int = 0, training: dict[str, Any] = CONSTANT, **changes: Any
) -> RunResult:
    """A run of 100 steps of 10 tokens; the curve as (step, nats)."""
    points = [CurvePoint(step=step, tokens=10 * step, seconds=step, nats_per_token=nats) for step, nats in curve]
    result = run_result(variant, seed, steps=100, tokens_seen=1_000, validation_curve=points, **changes)
    return result.model_copy(update={"config": {**result.config, "training": training}})


BASE = [(50, 5.0), (100, 4.0)]
