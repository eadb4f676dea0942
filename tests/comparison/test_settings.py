"""Resolved configs by dotted keys, and in which two runs differ."""

from typing import Any

from tests.support.finished_runs import example_comparison
from tiedlm.comparison.settings import config_differences
from tiedlm.config.base import execution_keys
from tiedlm.run.config import RunConfig


def test_config_keys_that_differ_are_named_without_names_seeds_and_execution() -> None:
    one = {"variant": "a", "seed": 1, "training": {"learning_rate": 1e-3, "device": "cpu"}, "model": {"dim": 8}}
    other = {"variant": "b", "seed": 2, "training": {"learning_rate": 2e-3, "device": "cuda"}, "model": {"dim": 8}}
    assert config_differences(one, other) == ["training.learning_rate"]
    assert example_comparison().differences[0].config_differences == ["model.tying.type"]


def test_a_key_that_comes_with_a_kind_of_tying_is_a_difference_only_beside_its_default() -> None:
    def tying(kind: str, **keys: Any) -> dict[str, Any]:
        return {"model": {"tying": {"input_scale": 1.0, **keys, "type": kind}}}

    plain = tying("untied", output_init="independent", output_init_std=None)
    assert config_differences(tying("tied"), plain) == ["model.tying.type"]
    assert config_differences(tying("tied"), tying("untied", output_init="copy")) == [
        *("model.tying.type", "model.tying.output_init")
    ]
    assert config_differences(tying("tied", input_scale=11.3), plain) == [
        *("model.tying.input_scale", "model.tying.type")
    ]
    assert config_differences(plain, tying("untied", output_init="copy", output_init_std=None)) == [
        "model.tying.output_init"
    ]


def test_how_a_run_was_carried_out_is_no_difference_in_any_part_of_its_config() -> None:
    """In every field marked so, wherever it stands; a key of an older version, unknown today, is one that differs."""
    one: dict[str, Any] = {"evaluation": {"batch_size": 16, "stride": 8}, "model": {"gone": 1}}
    other: dict[str, Any] = {"evaluation": {"batch_size": 32, "stride": 4}, "model": {"gone": 2}}
    assert config_differences(one, other) == ["evaluation.stride", "model.gone"]
    for key in execution_keys(RunConfig):
        part, _, name = key.rpartition(".")
        assert config_differences({part: {name: 1}} if part else {key: 1}, {}) == [], key
