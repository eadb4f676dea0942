"""A small model to be scored, and ids to score it on."""

import numpy as np
import torch

from tiedlm.config.base import parse
from tiedlm.model.config import TransformerConfig
from tiedlm.model.language_model import LanguageModel, build_model

V = 97


def tiny(dropout: float = 0.0, positions: str = "learned") -> LanguageModel:
    raw = {"num_layers": 2, "dim": 16, "num_heads": 2, "dropout": dropout, "positions": positions}
    model = build_model(parse(TransformerConfig, raw), V, 32)
    model.initialize(0)
    with torch.no_grad():  # sharper than a fresh start, so that context matters
        for parameter in model.parameters():
            parameter.mul_(3)
    return model


def some_ids(num_tokens: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, V, num_tokens + 1).astype(np.uint16)
