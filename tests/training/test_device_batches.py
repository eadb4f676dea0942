"""A batch on its way to the device: what arrives is what was made, of the step that was asked for."""

import numpy as np
import pytest
import torch

from tiedlm.data.batches import IGNORED, Batches, Int64
from tiedlm.training.device_batches import Batch, DeviceBatches

B, T = 5, 8
IDS = np.arange(203, dtype=np.uint16)
"""25 windows and one of 2 targets: in every epoch some batch has padding."""
CPU = torch.device("cpu")


class Noting(Batches):
    """Batches that note for which steps one was made."""

    def __init__(self) -> None:
        super().__init__(IDS, T, B, seed=0)
        self.made: list[int] = []

    def batch(self, step: int) -> tuple[Int64, Int64]:
        self.made.append(step)
        return super().batch(step)


def assert_is_of(step: int, batch: Batch) -> None:
    """The arrays are those of `step`, and the parts on the device put together are the arrays."""
    ids, targets = Batches(IDS, T, B, seed=0).batch(step)
    assert batch.step == step
    assert np.array_equal(batch.ids, ids) and np.array_equal(batch.targets, targets)
    assert batch.num_targets == (targets != IGNORED).sum()
    for rows, some_ids, some_targets in batch.micro_batches:
        assert some_ids.dtype == some_targets.dtype == torch.int64
        assert np.array_equal(some_ids.cpu(), ids[rows]) and np.array_equal(some_targets.cpu(), targets[rows])
    assert [row for rows, _, _ in batch.micro_batches for row in range(B)[rows]] == list(range(B))


@pytest.mark.parametrize("micro_batch_size", [1, 2, B, 2 * B])
def test_every_row_of_a_batch_arrives_once_in_parts_of_the_size_asked_for(micro_batch_size: int) -> None:
    on_device = DeviceBatches(Noting(), micro_batch_size, CPU)
    batches = [on_device.take(step) for step in range(6)]
    for step, batch in enumerate(batches):
        assert_is_of(step, batch)
        assert {len(ids) for _, ids, _ in batch.micro_batches[:-1]} <= {micro_batch_size}
    assert {batch.num_targets for batch in batches} == {B * T, (B - 1) * T + 2}


def test_a_prefetched_batch_is_made_once() -> None:
    batches = Noting()
    on_device = DeviceBatches(batches, 2, CPU)
    for step in range(4):
        assert_is_of(step, on_device.take(step))
        on_device.prefetch(step + 1)
    assert batches.made == [0, 1, 2, 3, 4]


def test_a_prefetched_batch_goes_to_no_other_step() -> None:
    """A run goes on from a checkpoint, at another step than the one that it was about to take."""
    on_device = DeviceBatches(Noting(), 2, CPU)
    on_device.prefetch(1)
    assert_is_of(7, on_device.take(7))
    assert_is_of(1, on_device.take(1))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU; of the CPU the tests above hold the same")
def test_on_a_gpu_batches_sent_without_waiting_arrive_whole() -> None:
    """Many, and kept: pinned memory that was written to again before it was read would show in one of them."""
    on_device = DeviceBatches(Noting(), 2, torch.device("cuda"))
    batches = []
    for step in range(50):
        batches.append(on_device.take(step))
        on_device.prefetch(step + 1)
    for step, batch in enumerate(batches):
        assert_is_of(step, batch)
