"""The batches of a run on their way from the text to the device."""

from dataclasses import dataclass

import torch
from torch import Tensor

from tiedlm.data.batches import IGNORED, Batches, Int64

MicroBatch = tuple[slice, Tensor, Tensor]
"""Which rows of the batch, and their ids and targets on the device."""


@dataclass(frozen=True)
class Batch:
    """What one step trains on: ids and targets (B, T) as they were made, and the same in parts on the device."""

    step: int
    ids: Int64
    targets: Int64
    num_targets: int
    micro_batches: list[MicroBatch]


class Feed:
    """Hands out the batch of each step, with the next one made ahead while the device is busy.

    To a GPU a batch goes from pinned memory, on the stream that computes: whoever sends it does not wait, it arrives
    when the step under way is through, and torch keeps the pinned memory from being written to until it is read.
    """

    def __init__(self, batches: Batches, micro_batch_size: int, device: torch.device) -> None:
        self._batches, self._micro_batch_size, self._device = batches, micro_batch_size, device
        self._ahead: Batch | None = None

    def take(self, step: int) -> Batch:
        """The batch of a step: the one made ahead, where it is that step's."""
        batch, self._ahead = self._ahead, None
        return batch if batch is not None and batch.step == step else self._made(step)

    def make_ahead(self, step: int) -> None:
        """Make the batch that will be taken next."""
        self._ahead = self._made(step)

    def _made(self, step: int) -> Batch:
        ids, targets = self._batches.batch(step)
        starts = range(0, len(ids), self._micro_batch_size)
        rows = [slice(start, start + self._micro_batch_size) for start in starts]
        parts = zip(rows, self._sent(ids, rows), self._sent(targets, rows), strict=True)
        return Batch(step, ids, targets, int((targets != IGNORED).sum()), list(parts))

    def _sent(self, array: Int64, rows: list[slice]) -> list[Tensor]:
        """These rows of a batch, on their way to the device."""
        tensor = torch.from_numpy(array)
        if self._device.type == "cuda":
            tensor = tensor.pin_memory()
        return [tensor[some].to(self._device, non_blocking=True) for some in rows]
