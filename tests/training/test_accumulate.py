"""Gradients over micro-batches are those of the whole batch."""

from typing import Any

import pytest
import torch

from tests.support.trainings import training
from tiedlm.training.accumulate import accumulate_gradients
from tiedlm.training.device_batches import MicroBatch
from tiedlm.training.trainer import Trainer

KEYS: dict[str, Any] = {"num_tokens": 110, "tying": {"type": "soft", "strength": 0.3}}
"""Windows of uneven length, and a penalty, which must be there once."""


def accumulate(some: Trainer, sizes: list[int], scaler: torch.amp.GradScaler) -> list[float]:
    """The gradients of the first step in micro-batches of these sizes; the shares of its loss."""
    ids, targets = (torch.from_numpy(array) for array in some.batches.batch(0))
    ends = [sum(sizes[: index + 1]) for index in range(len(sizes))]
    rows = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    shares = accumulate_gradients(
        some.training_step,
        [MicroBatch(each, ids[each], targets[each]) for each in rows],
        int((targets >= 0).sum()),
        states=[None] * len(rows),
        dropout_seeds=[0] * len(rows),
        output_path=some.output_path,
        scaler=scaler,
    )
    return [float(share) for share in shares]


def gradients(some: Trainer) -> dict[str, torch.Tensor]:
    return {name: each.grad for name, each in some.model.named_parameters() if each.grad is not None}


@pytest.mark.parametrize("sizes", [[1, 1, 1, 1], [3, 1], [2, 2]])
@pytest.mark.parametrize("limit", [None, 0.01])
def test_gradients_and_loss_are_those_of_the_whole_batch_however_it_is_divided(
    sizes: list[int], limit: float | None
) -> None:
    whole, parts = (training(**KEYS, output_max_grad_norm=limit) for _ in range(2))
    scaler = torch.amp.GradScaler("cpu", enabled=False)
    (loss,) = accumulate(whole, [4], scaler)
    assert sum(accumulate(parts, sizes, scaler)) == pytest.approx(loss, rel=1e-6)
    expected, found = gradients(whole), gradients(parts)
    assert expected.keys() == found.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-6)


def test_gradients_are_those_of_the_scaled_loss_and_the_shares_are_not_scaled() -> None:
    plain, scaled = training(**KEYS), training(**KEYS)
    losses = [
        accumulate(some, [2, 2], torch.amp.GradScaler("cpu", init_scale=8.0, enabled=some is scaled))
        for some in (plain, scaled)
    ]
    assert losses[0] == losses[1]
    for name, gradient in gradients(plain).items():
        torch.testing.assert_close(gradients(scaled)[name], 8 * gradient)


def test_each_micro_batch_has_its_own_dropout_which_follows_from_its_seed() -> None:
    some = training(dropout=0.3, num_tokens=700)
    ids, targets = (torch.from_numpy(array)[:1] for array in some.batches.batch(0))

    def shares(*seeds: int) -> list[float]:
        found = accumulate_gradients(
            some.training_step,
            [MicroBatch(slice(1), ids, targets)] * len(seeds),
            targets.numel(),
            states=[None] * len(seeds),
            dropout_seeds=seeds,
            output_path=some.output_path,
            scaler=some.scaler,
        )
        return [float(share) for share in found]

    first, second, third = shares(1, 2, 1)
    assert first == third != second
