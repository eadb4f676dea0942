"""Memory for gradients that stays from one step to the next, and changes nothing else."""

from typing import Any

import pytest
import torch
from torch import nn

from tests.support.trainings import run, training, weights
from tiedlm.kernels.gradient_buffers import GradientBuffers, gradient_buffer
from tiedlm.training.trainer import Trainer

TYINGS: list[dict[str, Any]] = [
    {"type": "tied"},
    {"type": "untied"},
    {"type": "soft", "strength": 0.1},
    {"type": "partial_dimensions", "shared": 8},
    {"type": "projected"},
]


def place(some: Trainer) -> int:
    """Where the gradient of the matrix lies that the head reads."""
    tying = some.model.tying
    matrix = getattr(tying, "output_embedding", tying.input_embedding)
    assert isinstance(matrix.grad, torch.Tensor)
    return matrix.grad.data_ptr()


@pytest.mark.parametrize("tying", ["tied", "untied"])
@pytest.mark.parametrize("micro", [4, 2])
def test_the_heads_gradient_lies_where_that_of_the_last_step_did(
    tying: str, micro: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = training(tying={"type": tying}, micro=micro)
    others: list[torch.Tensor] = []
    forward, places = some.training_step.forward, set()

    def after_others(*args: Any) -> Any:
        others.extend(torch.empty(97, 16) for _ in range(9))  # take the memory of gradients that were let go
        return forward(*args)

    monkeypatch.setattr(some.training_step, "forward", after_others)
    for _ in range(4):
        some.advance()
        places.add(place(some))
    assert len(places) == 1


@pytest.mark.parametrize("tying", TYINGS, ids=lambda raw: raw["type"])
@pytest.mark.parametrize("keys", [{}, {"micro": 2}, {"output_max_grad_norm": 0.1}], ids=str)
def test_a_run_is_the_same_to_the_last_bit_in_new_memory(
    tying: dict[str, Any], keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, anew = training(tying=tying, **keys), training(tying=tying, **keys)
    losses = [record.loss for record in run(kept, 5)]
    monkeypatch.setattr(GradientBuffers, "take", lambda self, shape, dtype: torch.full(shape, torch.nan, dtype=dtype))
    assert [record.loss for record in run(anew, 5)] == losses
    mine, theirs = weights(kept.model), weights(anew.model)
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_two_runs_in_one_process_have_buffers_of_their_own() -> None:
    one, other, alone = training(), training(seed=1), training()
    for _ in range(4):
        one.advance()
        other.advance()
    assert place(one) != place(other)
    assert [record.loss for record in run(alone, 4)][-1] == one.progress.last_loss


def gradient_of(parameter: nn.Parameter) -> torch.Tensor:
    assert parameter.grad is not None
    return parameter.grad


def test_a_buffer_is_for_one_step_and_one_shape_and_never_a_part_of_something_else() -> None:
    buffers = GradientBuffers()
    parameters = [nn.Parameter(torch.zeros(3, 2)) for _ in range(3)]
    with buffers.active():
        whole = gradient_buffer(torch.zeros(6, 2), torch.float32)
        parameters[0].grad = gradient_buffer(parameters[0], torch.float32)
        parameters[1].grad = whole[:3]  # a part
        parameters[2].grad = torch.zeros(3, 2)  # not from a buffer
    first = gradient_of(parameters[0]).data_ptr()
    buffers.release(parameters)
    assert [parameter.grad for parameter in parameters] == [None] * 3
    assert buffers.take(torch.Size((3, 2)), torch.float64).data_ptr() != first
    again = buffers.take(torch.Size((3, 2)), torch.float32)
    assert again.data_ptr() == first
    assert buffers.take(torch.Size((3, 2)), torch.float32).data_ptr() not in (first, whole.data_ptr())
    buffers.release(parameters)  # without gradients: what was free is let go
    with buffers.active():
        assert gradient_buffer(parameters[0], torch.float32).data_ptr() != again.data_ptr()


def test_a_buffer_that_was_let_go_is_none_for_what_comes_to_lie_there(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, buffers, parameter = bytearray(4 * 97 * 16), GradientBuffers(), nn.Parameter(torch.zeros(97, 16))

    def there() -> torch.Tensor:
        return torch.frombuffer(memory, dtype=torch.float32).view(97, 16)

    with monkeypatch.context() as patch:
        patch.setattr(torch, "empty", lambda *_, **__: there())
        assert buffers.take(torch.Size((97, 16)), torch.float32).data_ptr() == there().data_ptr()
    parameter.grad = there()
    buffers.release([parameter])
    assert buffers.take(torch.Size((97, 16)), torch.float32).data_ptr() != there().data_ptr()


def test_a_step_that_failed_between_two_micro_batches_is_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the head's gradient is kept apart, what is left behind may be a few rows: a gradient without memory."""
    some, straight = (training(micro=2, output_max_grad_norm=0.05) for _ in range(2))
    run(straight, 3)
    some.advance()
    forward, calls = some.training_step.forward, []

    def failing(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 2:
            raise MemoryError
        return forward(*args)

    monkeypatch.setattr(some.training_step, "forward", failing)
    with pytest.raises(MemoryError):
        some.advance()
    run(some, 2)
    mine, theirs = weights(some.model), weights(straight.model)
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)
