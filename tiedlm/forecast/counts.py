"""Exact parameter counts of a model that is not built: no memory is allocated for its values. Free of torch."""

from tiedlm.model.config import ModelConfig
from tiedlm.model.counts import ParameterCounts


def count_model(model: ModelConfig, vocab_size: int, max_seq_len: int, seq_len: int) -> ParameterCounts:
    """Count the parameters by part, and the FLOPs per token in windows of `seq_len`."""
    import torch

    from tiedlm.model.language_model import build_model
    from tiedlm.model.parameters import count_parameters

    with torch.device("meta"):
        return count_parameters(build_model(model, vocab_size, max_seq_len), seq_len)
