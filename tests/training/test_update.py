"""The change of the weights: all of it or, where loss or gradient is not finite, nothing at all."""

import itertools
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.hooks import RemovableHandle

from tests.support.tying_runs import TIED, UNTIED, losses, tiny_training
from tiedlm.errors import RunError
from tiedlm.training.trainer import Trainer

OPTIMIZERS = pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
LIMITS = pytest.mark.parametrize(
    "limits",
    [{}, {"max_grad_norm": None}, {"embedding_max_grad_norm": 0.1}, {"output_max_grad_norm": 0.1}],
    ids=["one", "none", "embeddings", "output"],
)


def all_state(some: Trainer) -> list[Tensor]:
    """Everything that an update may change: weights, and what the optimizer keeps of each."""
    kept = [value for entry in some.optimizer.state.values() for value in entry.values() if value is not None]
    return [value.detach().clone() for value in (*some.model.parameters(), *kept)]


def are_same(some: list[Tensor], others: list[Tensor]) -> bool:
    return all(torch.equal(one, other) for one, other in zip(some, others, strict=True))


def spoil_gradient(parameter: nn.Parameter, value: float, num_micro_batches: int) -> RemovableHandle:
    """Let one entry of the gradient become `value`, in the last micro-batch of a step."""
    calls = itertools.count(1)

    def spoilt(parameter: Tensor) -> None:
        assert parameter.grad is not None
        if next(calls) % num_micro_batches == 0:
            parameter.grad.view(-1)[-1] = value

    handle: RemovableHandle = parameter.register_post_accumulate_grad_hook(spoilt)
    return handle


def spoil_loss(some: Trainer) -> RemovableHandle:
    """Let the loss become infinite, and its gradients stay as they are."""

    def spoilt(module: nn.Module, given: Any, result: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return result[0] + math.inf, result[1]

    return some.training_step.register_forward_hook(spoilt)


def spoil(some: Trainer, what: str, num_micro_batches: int = 1) -> RemovableHandle:
    if what == "loss":
        return spoil_loss(some)
    value = 1e30 if what == "norm" else float(what)  # which is finite, and its square is not
    return spoil_gradient(next(some.model.final_norm.parameters()), value, num_micro_batches)


@LIMITS
@OPTIMIZERS
@pytest.mark.parametrize("what", ["nan", "inf", "norm", "loss"])
def test_a_step_that_is_not_finite_stops_the_run_and_is_as_if_it_had_not_been(
    what: str, optimizer: str, limits: dict[str, Any]
) -> None:
    """In its last micro-batch: with what spoilt it taken away the run goes on, bit for bit, as one that met nothing."""
    straight, disturbed = (tiny_training(TIED, micro=2, optimizer=optimizer, **limits) for _ in range(2))
    losses(straight, 2), losses(disturbed, 2)
    before = all_state(disturbed)
    handle = spoil(disturbed, what, num_micro_batches=2)
    said = "loss of step 3 is inf" if what == "loss" else "gradient of step 3 has the norm"
    with pytest.raises(RunError, match=said) as stopped:
        disturbed.advance()
    assert (stopped.value.kind, stopped.value.step) == ("diverged", 3)
    assert disturbed.progress.step == 2
    assert are_same(before, all_state(disturbed))
    handle.remove()
    assert losses(straight, 2) == losses(disturbed, 2)
    assert are_same(all_state(straight), all_state(disturbed))
    assert straight.progress.batches_hash == disturbed.progress.batches_hash


@OPTIMIZERS
@pytest.mark.parametrize("what", ["nan", "loss"])
def test_a_first_step_that_is_not_finite_changes_no_weight(what: str, optimizer: str) -> None:
    some = tiny_training(UNTIED, optimizer=optimizer)
    before = [parameter.detach().clone() for parameter in some.model.parameters()]
    spoil(some, what)
    with pytest.raises(RunError, match="of step 1"):
        some.advance()
    assert are_same(before, list(some.model.parameters()))


@OPTIMIZERS
@pytest.mark.parametrize("what", ["loss", "norm"])
def test_in_fp16_what_no_smaller_scale_mends_stops_the_run_before_a_weight_changes(what: str, optimizer: str) -> None:
    some = tiny_training(TIED, optimizer=optimizer, precision="fp16")
    losses(some, 2)
    before = all_state(some)
    spoil(some, what)
    with pytest.raises(RunError, match="of step 3") as stopped:
        some.advance()
    assert (stopped.value.kind, stopped.value.step) == ("diverged", 3)
    assert are_same(before, all_state(some))


def test_in_fp16_gradients_that_overflow_at_every_scale_stop_the_run() -> None:
    some = tiny_training(TIED, precision="fp16")
    before = [parameter.detach().clone() for parameter in some.model.parameters()]
    spoil(some, "inf")
    with pytest.raises(RunError, match="gradient of step 1 has the norm inf"):
        some.advance()
    assert some.scaler.get_scale() < 1e-3
    assert are_same(before, list(some.model.parameters()))


class Waits(TorchDispatchMode):
    """Notes each operation whose value or size Python asked for: on a GPU it would have waited for it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.ops.aten._local_scalar_dense.default or torch.Tag.dynamic_output_shape in function.tags:
            self.found.append(str(function))
        return function(*args, **(kwargs or {}))


@LIMITS
@OPTIMIZERS
def test_an_update_waits_for_no_value(optimizer: str, limits: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    some, waits = tiny_training(TIED, optimizer=optimizer, **limits), Waits()
    update = some.update

    def watched(loss: Tensor) -> Tensor | None:
        with waits:
            return update(loss)

    monkeypatch.setattr(some, "update", watched)
    before = all_state(some)[0]
    losses(some, 2)
    assert waits.found == []
    assert not torch.equal(before, all_state(some)[0]), "it must have been an update"


def test_a_value_that_is_waited_for_is_noted() -> None:
    with Waits() as waits:
        bool(torch.ones(()) > 0), torch.ones(2).nonzero()
    assert len(waits.found) == 2
