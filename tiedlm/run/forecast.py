"""What the steps of a run should need."""

from pathlib import Path

from tiedlm.forecast.footprint import Footprint
from tiedlm.forecast.memory import Target
from tiedlm.forecast.stored_memory import predict
from tiedlm.run.config import RunConfig


def foresee(config: RunConfig, target: Target, vocab_size: int, cache_dir: Path) -> Footprint:
    """The footprint of a run's step on `target`."""
    return predict(
        config.model, config.training, target, vocab_size, config.data.seq_len, config.max_seq_len, cache_dir
    )
