"""Which keys of a recipe the memory of a step depends on: each one is on one side or the other."""

from typing import Any

import pytest

from tiedlm.config.base import memory_settings, parse
from tiedlm.forecast.footprint import Footprint
from tiedlm.forecast.memory import Target, forecast_peak
from tiedlm.model.config import ShapeConfig
from tiedlm.training.config import TrainingConfig

RECIPE = {"steps": 50, "batch_size": 4, "micro_batch_size": 2, "learning_rate": 1e-3}
WITHOUT: dict[str, Any] = {
    "steps": None,
    "tokens": 10_000,
    "learning_rate": 1.0,
    "min_learning_rate": 0.1,
    "schedule": "step",
    "milestones": [0.3],
    "gamma": 0.2,
    "warmup": 5,
    "betas": [0.5, 0.6],
    "eps": 1e-3,
    "weight_decay": 0.0,
    "max_grad_norm": None,
    "embedding_weight_decay": 0.3,
    "embedding_learning_rate_factor": 3.0,
    "output_learning_rate_factor": "sqrt_dim",
    "embedding_betas": [0.7, 0.8],
    "embedding_eps": 1e-4,
    "num_threads": 3,
    "evaluate_every": 3,
    "checkpoint_every": 4,
    "keep_last": 7,
    "loggers": ["tensorboard"],
}
"""Changes that no memory follows from; `epochs` and `decay` are of another length and schedule."""
WITH: dict[str, dict[str, Any]] = {
    "batch_size": {"batch_size": 8},
    "micro_batch_size": {"micro_batch_size": 4},
    "optimizer": {"optimizer": "sgd"},
    "momentum": {"optimizer": "sgd", "momentum": 0.0},
    "z_loss": {"z_loss": 1e-4},
    "embedding_max_grad_norm": {"embedding_max_grad_norm": 1.0},
    "output_max_grad_norm": {"output_max_grad_norm": 1.0},
    "precision": {"precision": "bf16"},
    "compile": {"compile": True},
    "head": {"head": "full"},
    "device": {"device": "cuda"},
}
"""For each key that memory depends on, a recipe whose step may need another amount."""


def recipe(**changes: Any) -> TrainingConfig:
    return parse(TrainingConfig, {**RECIPE, **changes})


def footprint(training: TrainingConfig) -> Footprint:
    model = {"num_layers": 1, "dim": 8, "num_heads": 1, "feed_forward_dim": 24, "tying": {"type": "untied"}}
    target = Target("cpu", "fp32", 2)
    made = forecast_peak(
        parse(ShapeConfig, {"model": model}).model, training, target, vocab_size=300, seq_len=16, max_seq_len=16
    )
    assert made.peak_bytes is not None, made.reason
    return made


def test_every_key_of_a_recipe_is_said_to_take_memory_or_not() -> None:
    assert {*WITH} | {*WITHOUT} | {"epochs", "decay"} == {*TrainingConfig.model_fields}
    assert {*WITH} == {*memory_settings(recipe())}


def test_keys_that_take_no_memory_change_no_forecast() -> None:
    other = recipe(**WITHOUT)
    assert {key for key in WITHOUT if getattr(other, key) != getattr(recipe(), key)} == {*WITHOUT}
    assert memory_settings(other) == memory_settings(recipe())
    assert footprint(other) == footprint(recipe())


@pytest.mark.parametrize("key", WITH)
def test_keys_that_take_memory_are_told_apart(key: str) -> None:
    assert memory_settings(recipe(**WITH[key])) != memory_settings(recipe())


@pytest.mark.parametrize("key", ["z_loss", "embedding_max_grad_norm", "output_max_grad_norm"])
def test_of_a_limit_or_a_penalty_only_that_it_is_there_matters(key: str) -> None:
    one, other = (memory_settings(recipe(**{key: value})) for value in (0.1, 0.2))
    assert one == other


def test_what_is_left_out_of_a_step_takes_less() -> None:
    peaks = [footprint(recipe(**WITH[key])).peak_bytes for key in ("optimizer", "momentum")]
    assert footprint(recipe()).peak_bytes > peaks[0] > peaks[1]  # type: ignore[operator]
