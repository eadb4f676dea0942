"""Whether a run's tying fits the text that it is to be trained on: known once that is prepared. Free of torch."""

from typing import TYPE_CHECKING

from tiedlm.config.base import ConfigError, Problem
from tiedlm.run.config import RunConfig

if TYPE_CHECKING:
    from tiedlm.data.prepared import PreparedData


def check_fits_text(config: RunConfig, data: "PreparedData") -> None:
    """Raise ConfigError where the vocabulary is too small for it, or the run too short."""
    model, seq_len = config.model, config.data.seq_len
    num_windows = -(-data.split("train").num_tokens // seq_len)
    try:
        model.tying.check_sizes(data.vocab_size, model.dim)
        model.tying.check_length(config.training.num_steps(seq_len, num_windows))
    except ValueError as error:
        raise ConfigError(Problem("model", f"{config.variant}: {error}")) from None
