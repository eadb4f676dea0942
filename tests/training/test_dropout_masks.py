"""For one seed, step and micro-batch the body's dropout masks are the same whatever ties the two embeddings."""

from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.support.strategies import STRATEGIES
from tests.support.trainings import run, training
from tiedlm.config.base import ConfigError, parse
from tiedlm.data.batches import Batches
from tiedlm.model.config import LstmConfig
from tiedlm.model.language_model import build_model
from tiedlm.training.trainer import Trainer
from tiedlm.tying.input_path import InputPath

TREATMENTS: list[dict[str, Any]] = [
    {},
    {"embedding_noise": 0.1},
    {"embedding_dropout": 0.2},
    {"embedding_noise": 0.1, "embedding_dropout": 0.2, "embedding_norm": "rmsnorm", "input_gradient_factor": 0.5},
    {"init": "xavier_uniform", "output_bias": True},
]
NOISY = TREATMENTS[3]


def masks_of(some: Trainer, num_steps: int = 2) -> list[Tensor]:
    """The mask of each dropout of the body in some steps, and the state of the stream that it comes from."""
    found: list[Tensor] = []

    def drop(hidden: Tensor, probability: float) -> Tensor:
        """As nn.Dropout, with a mask that shows also where the entries are 0."""
        found.append(torch.get_rng_state())
        mask = F.dropout(torch.ones_like(hidden), probability)
        found.append(mask == 0)
        return hidden * mask

    for module in some.model.modules():
        if isinstance(module, nn.Dropout):
            module.forward = partial(drop, probability=module.p)  # type: ignore[method-assign]
    run(some, num_steps)
    return found


@pytest.fixture(scope="module")
def expected() -> list[Tensor]:
    """Those of the tied model without any treatment: five dropouts, two micro-batches, two steps."""
    found = masks_of(training(dropout=0.3, micro=2))
    assert len(found) == 2 * 5 * 2 * 2
    assert all(0.2 < mask.double().mean() < 0.4 for mask in found[1::2])
    return found


@pytest.mark.parametrize("treatment", TREATMENTS, ids=lambda keys: ",".join(keys) or "none")
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda keys: ",".join(map(str, keys.values())))
def test_masks_are_equal_over_all_strategies_and_treatments(
    strategy: dict[str, Any], treatment: dict[str, Any], expected: list[Tensor]
) -> None:
    found = masks_of(training(tying={**treatment, **strategy}, dropout=0.3, micro=2))
    assert len(found) == len(expected)
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_masks_of_another_seed_or_step_are_others(expected: list[Tensor]) -> None:
    other = masks_of(training(dropout=0.3, micro=2, seed=1))
    assert not any(torch.equal(one, two) for one, two in zip(other[1::2], expected[1::2], strict=True))
    half = len(expected) // 2
    assert not any(torch.equal(one, two) for one, two in zip(expected[1:half:2], expected[half + 1 :: 2], strict=True))


def test_a_recurrent_body_has_equal_masks_too() -> None:
    found = []
    for tying in ({"type": "tied"}, {"type": "factorized", "width": 5, **NOISY}, {"type": "untied", **NOISY}):
        some = training(tying=tying)
        shape = {"num_layers": 2, "dim": 16, "hidden_dim": 16, "dropout": 0.3, "type": "lstm", "tying": tying}
        model = build_model(parse(LstmConfig, shape), 97, 32)
        model.initialize(0)
        found.append(masks_of(rebuilt(some, model)))
    for masks in found[1:]:
        assert all(torch.equal(one, other) for one, other in zip(masks, found[0], strict=True))


def rebuilt(some: Trainer, model: Any) -> Trainer:
    batches: Batches = some.batches
    sizes = {"num_steps": some.num_steps, "micro_batch_size": 2, "seed": 0}
    return Trainer(model, batches, some.config, some.machine, **sizes)


def test_noise_and_dropped_tokens_are_of_the_micro_batch_and_differ_between_them() -> None:
    table, ids = torch.ones(97, 16), torch.arange(97)[None]
    config = training(tying={"type": "tied", "embedding_noise": 0.1, "embedding_dropout": 0.5})
    path: InputPath = config.model.tying.input_path
    drawn = []
    for seed in (1, 1, 2):
        path.seed(seed)
        torch.manual_seed(77)  # what the body draws does not matter
        drawn.append([path(table, ids), path(table, ids)])
    assert torch.equal(drawn[0][0], drawn[1][0]) and torch.equal(drawn[0][1], drawn[1][1])
    assert not torch.equal(drawn[0][0], drawn[0][1]), "a second lookup draws anew"
    assert not torch.equal(drawn[0][0], drawn[2][0])


def test_a_run_with_noise_that_older_code_began_is_not_continued_but_one_without_is() -> None:
    for tying, is_continued in (({"type": "tied"}, True), ({"type": "tied", **NOISY}, False)):
        begun = training(tying=tying, dropout=0.3)
        run(begun, 2)
        before = begun.snapshot()
        del before.progress["circumstances"]["embedding_stream"]
        again = training(tying=tying, dropout=0.3)
        if is_continued:
            again.restore(before)
            continue
        with pytest.raises(ConfigError, match="embedding_noise and embedding_dropout: step 2 was reached with the"):
            again.restore(before)
