"""How far a step moves the weights: what a copy of the weights would have shown, without one."""

import itertools
import math
from collections.abc import Mapping
from typing import Any
from unittest import mock

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.support.strategies import STRATEGIES
from tests.support.trainings import run, training, weights
from tiedlm.training import update_ratios
from tiedlm.training.trainer import Trainer
from tiedlm.training.update_ratios import UpdateMeter, measured_steps

OPTIMIZERS: list[dict[str, Any]] = [
    {},
    {"optimizer": "sgd"},
    {"optimizer": "sgd", "momentum": 0.0, "max_grad_norm": 0.1},
    {"precision": "fp16", "embedding_max_grad_norm": 0.1, "embedding_betas": [0.5, 0.8]},
]
DECAYS: dict[str, Any] = {"weight_decay": 0.1, "embedding_weight_decay": 0.3}
EVERY_STEP = frozenset(range(1, 9))


def measured(steps: frozenset[int] = EVERY_STEP, **keys: Any) -> Trainer:
    """A run of 8 steps with two micro-batches, measured after `steps`."""
    some = training(micro=2, num_steps=8, schedule="constant", warmup=0, **keys)
    some.update_meter.steps = steps
    return some


def copies_before_each_update(some: Trainer) -> list[dict[str, Tensor]]:
    """Filled, as the run goes on, with the weights that each update of the optimizer met."""
    copies: list[dict[str, Tensor]] = []
    update = some.update

    def copied(loss: Tensor) -> Tensor | None:
        copies.append(weights(some.model))
        return update(loss)

    some.update = copied  # type: ignore[assignment]
    return copies


def expected(some: Trainer, before: Mapping[str, Tensor]) -> dict[str, float | None]:
    """In float64, from the weights before and after."""
    moved: dict[str, list[float]] = {}
    for name, parameter in some.model.named_parameters():
        part = some.update_meter.part_of.get(id(parameter))
        if part is not None and parameter.grad is not None:
            old, new = before[name].double(), parameter.detach().double()
            squares = moved.setdefault(part, [0.0, 0.0])
            squares[0] += float((new - old).square().sum())
            squares[1] += float(old.square().sum())
    return {part: math.sqrt(change / size) if size else None for part, (change, size) in moved.items()}


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)
@pytest.mark.parametrize("tying", STRATEGIES, ids=str)
def test_it_is_what_copies_of_the_weights_show(tying: dict[str, object], optimizer: dict[str, Any]) -> None:
    """Up to the rounding of the weights themselves."""
    some = measured(tying=tying, **DECAYS, **optimizer)
    copies = copies_before_each_update(some)
    for _ in range(8):
        record = some.advance()
        assert record.update_ratios is not None
        reference = expected(some, copies[-1])
        assert record.update_ratios.keys() == reference.keys() >= {"body"}
        for part, ratio in record.update_ratios.items():
            known = reference[part]
            assert ratio == (None if known is None else pytest.approx(known, rel=1e-3)), (part, record.step)


@pytest.mark.parametrize("optimizer", OPTIMIZERS[:3], ids=str)
@pytest.mark.parametrize("tying", [{"type": "tied"}, {"type": "untied"}, {"type": "progressive"}], ids=str)
def test_measuring_changes_no_bit(tying: dict[str, object], optimizer: dict[str, Any]) -> None:
    seen, unseen = measured(tying=tying, **optimizer), measured(frozenset(), tying=tying, **optimizer)
    with_ratios, without = run(seen, 8), run(unseen, 8)
    assert [record.loss for record in with_ratios] == [record.loss for record in without]
    assert all(torch.equal(weight, weights(unseen.model)[name]) for name, weight in weights(seen.model).items())
    assert {record.update_ratios is None for record in without} == {True}
    assert {record.update_ratios is None for record in with_ratios} == {False}


class Allocations(TorchDispatchMode):
    """Notes the entries of the largest tensor that an operation made, beside views and what it changed in place."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.largest = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {one.untyped_storage().data_ptr() for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)}
        result = function(*args, **(kwargs or {}))
        for made in tree_leaves(result):
            if isinstance(made, Tensor) and made.untyped_storage().data_ptr() not in given:
                self.largest = max(self.largest, made.untyped_storage().nbytes() // made.element_size())
        return result


@pytest.mark.parametrize("optimizer", OPTIMIZERS[:3], ids=str)
def test_no_tensor_is_larger_than_a_block_and_blocks_add_up(optimizer: dict[str, Any]) -> None:
    some = measured(frozenset(), tying={"type": "untied"}, **DECAYS, **optimizer)
    run(some, 3)
    at_once = some.update_meter.measure()
    with mock.patch.dict(update_ratios._BLOCK_SIZES, cpu=100), Allocations() as seen:
        in_blocks = some.update_meter.measure()
    assert 0 < seen.largest <= 100 < some.model.tying.output_weight().numel()
    assert in_blocks == pytest.approx(at_once, rel=1e-6)


def test_a_start_of_zero_has_no_ratio_and_what_is_frozen_has_that_of_zero() -> None:
    for optimizer in OPTIMIZERS:
        first, second = run(measured(tying={"type": "untied", "output_init": "zero"}, **optimizer), 2)
        assert first.update_ratios is not None and second.update_ratios is not None
        assert first.update_ratios["output_embedding"] is None
        assert second.update_ratios["output_embedding"]
    (frozen,) = run(measured(embedding_learning_rate_factor=0.0), 1)
    assert frozen.update_ratios is not None
    assert frozen.update_ratios["shared_embedding"] == 0.0
    assert frozen.update_ratios["body"]


@pytest.mark.parametrize("num_steps", [1, 2, 6, 99, 100, 450, 499, 500, 100_000])
def test_it_is_measured_once_in_fifty_steps_and_ten_times_at_most_spread_evenly(num_steps: int) -> None:
    steps = sorted(measured_steps(num_steps))
    assert len(steps) == min(max(num_steps // 50, 1), 10)
    assert steps[0] >= 1 and steps[-1] <= num_steps
    gaps = [later - earlier for earlier, later in itertools.pairwise(steps)]
    assert not gaps or max(gaps) - min(gaps) <= 1 <= 50 <= min(gaps)


def test_a_run_is_measured_at_those_steps() -> None:
    some = training(num_steps=20)
    assert [record.step for record in run(some, 20) if record.update_ratios is not None] == [10]
    assert UpdateMeter(some.model, some.optimizer, 200).steps == measured_steps(200)
