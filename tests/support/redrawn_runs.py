"""Results of the baseline with its embeddings drawn anew, as the plan adds it for the noise floor."""

from collections.abc import Sequence
from typing import Any

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, hashes, run_result, runs
from tiedlm.run.result import RunResult

REDRAWN_NATS = (4.049, 4.044, 4.036, 4.05, 4.03)


def redrawn(nats: Sequence[float], of: str = "untied", **changes: Any) -> list[RunResult]:
    """A variant with the embeddings drawn anew, as the plan adds it."""
    drawn = []
    for seed, value in enumerate(nats):
        start = hashes(seed, input_embedding=f"{seed:04x}0e30" * 8)
        run = run_result(f"{of}+redrawn", seed, value, **{"hashes": start, "tying": of, **changes})
        more = {"embedding_draw": 1, "added": {"role": "noise_floor", "of": of}}
        drawn.append(run.model_copy(update={"config": {**run.config, **more}}))
    return drawn


EXAMPLE = [*runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS), *redrawn(REDRAWN_NATS)]
