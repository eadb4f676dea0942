"""The batches of a run on their way from the text to the device."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from tiedlm.data.batches import IGNORED, Batches, Int64


class MicroBatch(NamedTuple):
    """Some rows of a batch: which ones, and their ids and targets (rows, T) on the device."""

    rows: slice
    ids: Tensor
    targets: Tensor


@dataclass(frozen=True)
class Batch:
    """What one step trains on: ids and targets (B, T) in host memory, and the same as micro-batches on the device.

    `num_targets` counts the targets that are scored, of all micro-batches together.
    """

    step: int
    ids: Int64
    targets: Int64
    num_targets: int
    micro_batches: list[MicroBatch]


class DeviceBatches:
    """Gives each step its batch on the device, the next one prefetched while the device computes.

    A batch is copied to a GPU from pinned memory, on the stream that computes: the host does not wait for the copy,
    which takes place once the step under way is through, and torch does not reuse the pinned memory before that.
    """

    def __init__(self, batches: Batches, micro_batch_size: int, device: torch.device) -> None:
        self._batches, self._micro_batch_size, self._device = batches, micro_batch_size, device
        self._prefetched: Batch | None = None

    def take(self, step: int) -> Batch:
        """The batch of a step: the prefetched one, if it is of that step, else one made now."""
        batch, self._prefetched = self._prefetched, None
        return batch if batch is not None and batch.step == step else self._make(step)

    def prefetch(self, step: int) -> None:
        """Make the batch that will be taken next."""
        self._prefetched = self._make(step)

    def _make(self, step: int) -> Batch:
        ids, targets = self._batches.batch(step)
        starts = range(0, len(ids), self._micro_batch_size)
        rows = [slice(start, start + self._micro_batch_size) for start in starts]
        parts = map(MicroBatch, rows, self._copy(ids, rows), self._copy(targets, rows))
        return Batch(step, ids, targets, int((targets != IGNORED).sum()), list(parts))

    def _copy(self, array: Int64, rows: list[slice]) -> list[Tensor]:
        """These rows of a batch on the device; on a GPU the copy may still be under way."""
        tensor = torch.from_numpy(array)
        if self._device.type == "cuda":
            tensor = tensor.pin_memory()
        return [tensor[some].to(self._device, non_blocking=True) for some in rows]
