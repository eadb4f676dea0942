"""Results of runs whose bodies were matched to the baseline's number of parameters, as the plan adds them."""

from collections.abc import Sequence
from typing import Any

from tests.support.finished_runs import parameters, run_result
from tiedlm.run.result import ParameterCounts, RunResult

BASE = (4.043, 4.05, 4.029, 4.041, 4.037)
NOISE = (0.002, -0.001, 0.0005, -0.002, 0.0005)
"""Sums to 0: shifted by it, seeds differ by the shift in the mean."""
LARGE = 163_037_184


def shifted(by: float, times: float = 1.0) -> list[float]:
    """BASE shifted by so much in the mean, with `times` the noise of each seed."""
    return [nats + by + times * noise for nats, noise in zip(BASE, NOISE, strict=True)]


def sized(total: int, flops: int = 900_000_000) -> ParameterCounts:
    """The counts of tied with a body that brings them to so many."""
    counts = parameters("tied")
    parts = {**counts.parts, "body": counts.parts["body"] + total - counts.total}
    return counts.model_copy(update={"total": total, "parts": parts, "flops_per_token": flops})


def matched(role: str, nats: Sequence[float], of: str = "tied", **changes: Any) -> list[RunResult]:
    """A variant that the plan adds, with the parameters of untied unless told otherwise."""
    name = f"{of}+{role.removeprefix('matched_')}"
    values: dict[str, Any] = {"parameters": sized(LARGE), "tying": "tied"}
    made = []
    for seed, value in enumerate(nats):
        run = run_result(name, seed, value, **values | changes)
        shape = {"num_layers": 14, "feed_forward_dim": 5_168}
        config = {**run.config, "added": {"role": role, "of": of}, "model": {**run.config["model"], **shape}}
        made.append(run.model_copy(update={"config": config}))
    return made
