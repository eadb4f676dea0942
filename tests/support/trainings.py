"""A small model about to be trained on made-up ids."""

from typing import Any

import numpy as np
import torch

from tiedlm.config.base import parse
from tiedlm.data.batches import Batches
from tiedlm.model.config import TransformerConfig
from tiedlm.model.language_model import LanguageModel, build_model
from tiedlm.training.config import TrainingConfig
from tiedlm.training.machine import resolve_machine
from tiedlm.training.record import StepRecord
from tiedlm.training.trainer import Trainer

V, T = 97, 32


def training(
    *,
    tying: dict[str, Any] | None = None,
    dropout: float = 0.0,
    micro: int = 4,
    num_tokens: int = 700,
    seed: int = 0,
    num_steps: int = 20,
    **keys: Any,
) -> Trainer:
    """The `tiny` model on made-up ids; 700 tokens are 21 whole windows and one of 28."""
    shape = {"num_layers": 2, "dim": 16, "num_heads": 2, "dropout": dropout, "tying": tying or {"type": "tied"}}
    recipe = {"steps": num_steps, "batch_size": 4, "learning_rate": 1e-2, "precision": "fp32", "device": "cpu"}
    config = parse(TrainingConfig, {**recipe, **keys})
    model = build_model(parse(TransformerConfig, shape), V, T)
    model.initialize(seed)
    ids = np.random.default_rng(5).zipf(1.3, num_tokens + 1).clip(max=V - 1).astype(np.uint16)
    batches = Batches(ids, T, config.batch_size, seed)
    machine = resolve_machine(config)
    return Trainer(model, batches, config, machine, num_steps=num_steps, micro_batch_size=micro, seed=seed)


def run(some: Trainer, steps: int) -> list[StepRecord]:
    return [some.advance() for _ in range(steps)]


def weights(model: LanguageModel) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def largest_difference(one: LanguageModel, other: LanguageModel) -> float:
    mine, theirs = weights(one), weights(other)
    return max(float((mine[name] - theirs[name]).abs().max()) for name in mine)
