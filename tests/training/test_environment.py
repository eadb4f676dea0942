"""The environment of a run: what a checkpoint holds of it, and what is refused."""

from dataclasses import replace
from typing import Any

import pytest

from tiedlm.config.base import ConfigError
from tiedlm.training.environment import NUMERICS_VERSION, Environment

HERE = Environment("cpu", "fp32", compile=False, head="lean", micro_batch_size=4, torch="2.13.0")


def test_checkpoints_hold_it_under_the_keys_that_they_always_had() -> None:
    assert HERE.stored() == {
        "device": "cpu",
        "precision": "fp32",
        "compile": "false",
        "head": "lean",
        "micro_batch_size": 4,
        "torch": "2.13.0",
        "embedding_stream": "the body's",
        "arithmetic": NUMERICS_VERSION,
    }


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"device": "cuda"}, "training.device", "step 7 was reached with cuda, now it is cpu"),
        ({"precision": "bf16"}, "training.precision", "with bf16, now it is fp32"),
        ({"compile": True}, "training.compile", "with true, now it is false"),
        ({"head": "full"}, "training.head", "with full, now it is lean"),
        ({"micro_batch_size": 2}, "training.micro_batch_size", "with 2, now it is 4"),
        ({"torch": "2.11.0"}, "torch", "with 2.11.0, now it is 2.13.0"),
        ({"numerics_version": 1}, "tiedlm's arithmetic", f"with 1, now it is {NUMERICS_VERSION}"),
        ({"embedding_stream": "its own"}, "the random stream of embedding_noise and embedding_dropout", "with its own"),
        ({"torch": "2.11.0", "precision": "bf16"}, "training.precision", "with bf16, now it is fp32"),
    ],
)
def test_another_environment_is_refused_and_the_first_difference_named(
    changes: dict[str, Any], key: str, message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        HERE.check_continues(replace(HERE, **changes).stored(), step=7)
    (problem,) = refused.value.problems
    assert problem.key == key
    assert message in problem.message and "--fresh starts that run again" in problem.message


def test_the_same_environment_is_not_refused_nor_what_was_not_written_at_first() -> None:
    stored = HERE.stored()
    HERE.check_continues(stored, step=7)
    del stored["head"], stored["embedding_stream"]
    HERE.check_continues(stored, step=7)
    del stored["arithmetic"]
    replace(HERE, numerics_version=1).check_continues(stored, step=7)
    with pytest.raises(ConfigError, match="with 1, now it is"):
        HERE.check_continues(stored, step=7)
