"""How far a run has come: its counters."""

import math
from dataclasses import dataclass, field

from tiedlm.training.memory import Peaks


@dataclass
class Progress:
    """The counters of a run, saved with it. The speed is `steady_tokens / steady_seconds`.

    Tokens are targets. `batches_hash` is the running SHA-256 of all batches that were trained on.
    """

    step: int = 0
    tokens_seen: int = 0
    batches_hash: str = ""
    first_loss: float = math.nan
    last_loss: float = math.nan
    steady_tokens: int = 0
    steady_seconds: float = 0.0
    seconds: float = 0.0
    peaks: Peaks = field(default_factory=Peaks)

    def count(self, *, tokens: int, batches_hash: str, loss: float, seconds: float, counts_for_speed: bool) -> None:
        """Count one step; only a step that `counts_for_speed` counts for the speed."""
        self.step += 1
        self.tokens_seen += tokens
        self.seconds += seconds
        self.batches_hash = batches_hash
        self.last_loss = loss
        if self.step == 1:
            self.first_loss = loss
        if counts_for_speed:
            self.steady_tokens += tokens
            self.steady_seconds += seconds
