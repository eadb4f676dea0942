"""Tiny models and trainings with any tying, and what it is for two of them to be the same."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tiedlm.config.base import parse
from tiedlm.data.batches import Batches
from tiedlm.model.config import TransformerConfig
from tiedlm.model.language_model import LanguageModel, build_model
from tiedlm.training.config import TrainingConfig
from tiedlm.training.machine import resolve_machine
from tiedlm.training.trainer import Trainer

V, D, T = 97, 16, 32
TIED: dict[str, Any] = {"type": "tied"}
UNTIED: dict[str, Any] = {"type": "untied"}
IDS = np.random.default_rng(5).zipf(1.3, 701).clip(max=V - 1).astype(np.uint16)
FREQUENCIES = torch.from_numpy(np.bincount(IDS, minlength=V))


def shape(tying: dict[str, Any], **changes: Any) -> TransformerConfig:
    return parse(TransformerConfig, {"num_layers": 1, "dim": D, "num_heads": 2, "tying": tying, **changes})


def tiny_model(tying: dict[str, Any], seed: int = 0, **changes: Any) -> LanguageModel:
    model = build_model(shape(tying, **changes), V, T, FREQUENCIES)
    model.initialize(seed)
    return model


def tiny_training(tying: dict[str, Any], *, num_steps: int = 10, micro: int = 4, **keys: Any) -> Trainer:
    """A model about to be trained on 700 made-up tokens, without warm-up."""
    recipe = {"steps": num_steps, "batch_size": 4, "learning_rate": 1e-2, "precision": "fp32", "device": "cpu"}
    config = parse(TrainingConfig, {**recipe, **keys})
    batches, machine = Batches(IDS, T, config.batch_size, 0), resolve_machine(config)
    return Trainer(tiny_model(tying), batches, config, machine, num_steps=num_steps, micro_batch_size=micro, seed=0)


def losses(training: Trainer, num_steps: int) -> list[float]:
    return [training.advance().loss for _ in range(num_steps)]


def state(model: LanguageModel) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def assert_same_function(one: LanguageModel, other: LanguageModel) -> None:
    """To the last bit, on every token."""
    ids = torch.arange(V)[None, :T]
    assert torch.equal(one(ids), other(ids))
    assert torch.equal(one.logits(ids), other.logits(ids))


def assert_same_training(one: Trainer, other: Trainer, num_steps: int = 5) -> None:
    """Losses of some steps and the function that comes out, to the last bit.

    Gradient norms to rounding: a parameter without entries changes the order in which the norms are added up.
    """
    for _ in range(num_steps):
        mine, theirs = one.advance(), other.advance()
        assert mine.loss == theirs.loss
        assert math.isclose(mine.gradient_norm, theirs.gradient_norm, rel_tol=1e-6)
    assert_same_function(one.model, other.model)
