"""The gradients of one step, accumulated over its micro-batches."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from tiedlm.model.state import State
from tiedlm.training.clipping import OutputPath
from tiedlm.training.device_batches import MicroBatch
from tiedlm.training.step import MicroBatchLoss, TrainingStep


def accumulate_gradients(
    step: TrainingStep,
    micro_batches: Sequence[MicroBatch],
    num_targets: int,
    *,
    states: Sequence[State | None],
    dropout_seeds: Sequence[int],
    output_path: OutputPath,
    scaler: torch.amp.GradScaler,
) -> Iterator[Tensor]:
    """Run each micro-batch forward and backward, and yield its share of the loss, () without gradient.

    Lazy: a micro-batch runs when its share is asked for. Gradients are complete once the iterator is exhausted; the
    shares add up to the mean loss over the `num_targets` targets of the global batch. For each micro-batch there is a
    recurrent state to start from, which is replaced by the one it ends with (None: it starts from nothing), and a seed
    for its dropout. Gradients are those of the loss times the scale of `scaler`.
    """
    step.train()
    with output_path.apart(scaler) as head_gradient:
        for (_, ids, targets), state, seed in zip(micro_batches, states, dropout_seeds, strict=True):
            step.seed(seed)
            share, _ = step(MicroBatchLoss(ids, targets, num_targets, len(micro_batches), state, head_gradient))
            scaler.scale(share).backward()
            yield share.detach()
            del share  # before the next forward pass: what it was computed from goes with it
