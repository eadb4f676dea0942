"""What must stay the same over a run, so that all of its steps are computed in the same way."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

import torch

from tiedlm.config.base import ConfigError, Problem
from tiedlm.training.config import TrainingConfig
from tiedlm.training.machine import Machine, PrecisionName

NUMERICS_VERSION = 4
"""Raised whenever the code rounds differently than before: a run that older code left half trained is not continued."""
_STORED_NAMES = {"numerics_version": "arithmetic"}
"""Keys of checkpoints where they are not called like the field."""
_DEFAULTS: dict[str, str | int] = {"arithmetic": 1, "head": "lean", "embedding_stream": "the body's"}
"""For checkpoints that were written before these keys existed."""
_PLACES = {
    "torch": "torch",
    "arithmetic": "tiedlm's arithmetic",
    "embedding_stream": "the random stream of embedding_noise and embedding_dropout",
}
"""What an error calls a key that is no setting of `training`."""


@dataclass(frozen=True)
class Environment:
    """The hardware, the software and the settings that decide how the steps of a run round.

    `embedding_stream` is where noise and dropout of input vectors are drawn from; the body's where nothing is drawn.
    """

    device: str
    precision: PrecisionName
    compile: bool
    head: Literal["lean", "full"]
    micro_batch_size: int
    torch: str
    embedding_stream: Literal["the body's", "its own"] = "the body's"
    numerics_version: int = NUMERICS_VERSION

    @classmethod
    def here(
        cls, machine: Machine, config: TrainingConfig, micro_batch_size: int, *, embedding_draws: bool = False
    ) -> Self:
        """The environment of a run that trains in this process."""
        return cls(
            device=machine.device.type,
            precision=machine.precision,
            compile=machine.compile,
            head=config.effective_head,
            micro_batch_size=micro_batch_size,
            torch=torch.__version__.partition("+")[0],
            embedding_stream="its own" if embedding_draws else "the body's",
        )

    def stored(self) -> dict[str, str | int]:
        """As checkpoints hold it."""
        values = {**asdict(self), "compile": str(self.compile).lower()}
        return {_STORED_NAMES.get(name, name): value for name, value in values.items()}

    def check_continues(self, stored: dict[str, Any], step: int) -> None:
        """Raise ConfigError where a checkpoint of `step` was made in another environment, the first difference named.

        `stored` is what `stored()` gave then.
        """
        for key, now in self.stored().items():
            before = stored.get(key, _DEFAULTS.get(key))
            if before != now:
                message = (
                    f"step {step} was reached with {before}, now it is {now}; go on as it began, "
                    f"or --fresh starts that run again"
                )
                raise ConfigError(Problem(_PLACES.get(key, f"training.{key}"), message))
