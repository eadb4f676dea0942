"""A recipe by key, as it takes effect: equal for what does the same, whichever way it is written."""

from typing import Any

import pytest

from tiedlm.comparison.recipe_definition import RECIPE_KEYS, differing_recipe_keys, recipe_defaults, recipe_definition
from tiedlm.config.base import parse
from tiedlm.training.config import TrainingConfig
from tiedlm.tying.config import SeparateOutputConfig


def config(kind: str = "untied", training: dict[str, Any] | None = None, **tying: Any) -> dict[str, Any]:
    return {
        "model": {"dim": 64, "tying": {"type": kind, **tying}},
        "training": {"learning_rate": 1e-3, "betas": [0.9, 0.95], "eps": 1e-8, **(training or {})},
    }


def trained(**training: Any) -> dict[str, Any]:
    return config(training=training)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (config(input_scale="sqrt_dim"), config(input_scale=8)),
        (config(input_scale="sqrt_dim"), config(input_scale=8.0)),
        (config(init_std="inverse_sqrt_dim"), config(init_std=0.125)),
        (config(output_init_std=None), config(output_init_std=0.02)),
        (config(output_init="copy"), config(kind="tied")),
        (config(init_std=0.5), config(init_std=0.5, output_init_std=0.5)),
        (config(init="xavier_uniform", init_std=0.5), config(init="xavier_uniform")),
        (trained(embedding_betas=None), trained(embedding_betas=[0.9, 0.95])),
        (trained(embedding_eps=None), trained(embedding_eps=1e-8)),
        (trained(embedding_learning_rate_factor="sqrt_dim"), trained(embedding_learning_rate_factor=8)),
        (
            trained(embedding_learning_rate_factor=8),
            trained(embedding_learning_rate_factor=8, output_learning_rate_factor=8.0),
        ),
        (trained(), trained(weight_decay=0.1, embedding_weight_decay=0.0, max_grad_norm=1.0)),
        (config(kind="tied"), config(kind="untied")),
    ],
)
def test_what_does_the_same_is_one_recipe(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert differing_recipe_keys(recipe_definition(one), recipe_definition(other)) == []


@pytest.mark.parametrize(
    ("key", "changed"),
    [
        ("model.tying.input_scale", config(input_scale="sqrt_dim")),
        ("model.tying.init_std", config(init_std=1.0, output_init_std=0.02)),
        ("model.tying.output_init_std", config(output_init="zero")),
        ("model.tying.output_init_std", config(output_init_std=0.5)),
        ("training.output_learning_rate_factor", trained(output_learning_rate_factor=0.5)),
        ("training.embedding_betas", trained(embedding_betas=[0.5, 0.9])),
        ("training.embedding_weight_decay", trained(embedding_weight_decay=0.1)),
        ("training.max_grad_norm", trained(max_grad_norm=None)),
        ("training.schedule", trained(schedule="constant")),
    ],
)
def test_what_does_another_thing_is_another_recipe_in_that_key(key: str, changed: dict[str, Any]) -> None:
    assert differing_recipe_keys(recipe_definition(config()), recipe_definition(changed)) == [key]


def test_a_key_that_others_follow_takes_them_along() -> None:
    plain, other = recipe_definition(config()), recipe_definition(trained(embedding_learning_rate_factor=8))
    keys = ["training.embedding_learning_rate_factor", "training.output_learning_rate_factor"]
    assert differing_recipe_keys(plain, other) == keys
    assert differing_recipe_keys({}, {keys[0]: 8}) == [keys[0]], "of an older version"


def test_every_key_is_one_of_a_config_and_its_default_is_that_of_the_config() -> None:
    """So that no key is misspelled, and none renamed without this list."""
    known = {f"training.{name}" for name in TrainingConfig.model_fields}
    known |= {f"model.tying.{name}" for name in SeparateOutputConfig.model_fields}
    assert {*RECIPE_KEYS} <= known
    assert len({*RECIPE_KEYS}) == len(RECIPE_KEYS)
    parsed = parse(TrainingConfig, {"steps": 1, "batch_size": 1, "learning_rate": 1e-3})
    assert recipe_defaults()["training.weight_decay"] == parsed.weight_decay
    assert "training.learning_rate" not in recipe_defaults(), "it has no default"
