"""The memory that the steps of a run will need."""

from pathlib import Path

from tiedlm.forecast.footprint import Footprint
from tiedlm.forecast.memory import Target
from tiedlm.forecast.memory_cache import forecast_step
from tiedlm.run.config import RunConfig


def forecast_memory(config: RunConfig, target: Target, vocab_size: int, cache_dir: Path) -> Footprint:
    """The footprint of a step of a run on `target`."""
    return forecast_step(
        config.model, config.training, target, vocab_size, config.data.seq_len, config.max_seq_len, cache_dir
    )
