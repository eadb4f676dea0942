"""Forecast of the peak memory of a training step, on this device or on one that is not here.

The second step of a run is taken on fake tensors, which have a size and no values, by the code that trains, and every
storage is tracked. Where the tying goes through stages, the one with the largest peak counts. The fake tensors are on
the CPU whatever the device, so that a laptop can forecast for a GPU. Not modelled: the workspace of kernels (cuBLAS
keeps some tens of MB), fragmentation, a compiler. Attention on a GPU is assumed to be fused.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tiedlm.forecast.footprint import Footprint
from tiedlm.forecast.storage_tracker import StorageTracker
from tiedlm.kernels import nll as head
from tiedlm.kernels.tracing import traced_as
from tiedlm.model.config import ModelConfig
from tiedlm.model.language_model import LanguageModel, build_model
from tiedlm.model.layers import Attention
from tiedlm.model.lstm import LstmLayer
from tiedlm.training.accumulate import accumulate_gradients
from tiedlm.training.clipping import OutputPath
from tiedlm.training.config import TrainingConfig
from tiedlm.training.device_batches import MicroBatch
from tiedlm.training.machine import Machine, PrecisionName
from tiedlm.training.optimizer import start_optimizer_state
from tiedlm.training.step import build_step
from tiedlm.training.update import build_update

_CUDA_GRANULE = 512
"""CUDA's caching allocator rounds up to multiples of this many bytes."""


@dataclass(frozen=True)
class Target:
    """The device type and the settings to forecast for; the device need not be in this machine."""

    device: str
    precision: PrecisionName
    micro_batch_size: int


def forecast_peak(
    model: ModelConfig, training: TrainingConfig, target: Target, *, vocab_size: int, seq_len: int, max_seq_len: int
) -> Footprint:
    """The footprint of a step on windows of `seq_len` tokens; without figures but with the reason where torch fails."""
    empty = Footprint(device=target.device, precision=target.precision, micro_batch_size=target.micro_batch_size)
    try:
        from torch._subclasses.fake_tensor import FakeTensorMode

        # the step seeds its dropout, which must not change the random numbers of this process
        with torch.random.fork_rng(devices=()), FakeTensorMode():
            found = []
            for stage in build_model(model, vocab_size, max_seq_len).tying.stages:
                step = _TracedStep(build_model(model, vocab_size, max_seq_len), training, target)
                step.model.tying.set_progress(stage)
                found.append(step.trace(vocab_size, seq_len).footprint(empty, step.persistent_bytes()))
            return max(found, key=lambda footprint: footprint.peak_bytes or 0)
    except Exception as error:  # noqa: BLE001 (torch's private parts may change: a run must not be lost over an estimate)
        first_line = (str(error).splitlines() or [""])[0]
        return empty.model_copy(update={"reason": f"{type(error).__name__}: {first_line}"})


class _TracedStep:
    """A training step on tensors without values: what `Trainer` does with a batch, except for what needs values."""

    def __init__(self, model: LanguageModel, training: TrainingConfig, target: Target) -> None:
        self.model, self.training, self.target = model, training, target
        machine = Machine(torch.device("cpu"), target.precision, compile=False)
        if target.device == "cuda":
            _keep_no_attention_mask(model)
        _keep_gates(model)
        self.step = build_step(model, machine, training)
        self.update = build_update(model, training, machine)
        self.output_path = OutputPath(self.step, training)

    def trace(self, vocab_size: int, seq_len: int) -> StorageTracker:
        """Take the second step, for which the optimizer has its state, and track its storages."""
        start_optimizer_state(self.update.optimizer)
        granule = _CUDA_GRANULE if self.target.device == "cuda" else 1
        is_unique = vocab_size not in self._other_sizes(seq_len)
        tracker = StorageTracker(vocab_size if is_unique else None, granule)
        for parameter in self.model.parameters():
            tracker.hold(parameter, "parameters")
            parameter.register_post_accumulate_grad_hook(tracker.hold_gradient)
            for _, value in self._state_of(parameter):
                tracker.hold(value, "optimizer_state")
        micro_batches = self._micro_batches(seq_len, tracker)
        tracker.watch_phases(self.step)
        with traced_as(self.target.device), tracker:
            self._accumulate(micro_batches, self.training.batch_size * seq_len)
            tracker.phase = "update"
            self.update.limits.clip()
            self.update.optimizer.step()
        return tracker

    def _micro_batches(self, seq_len: int, tracker: StorageTracker) -> list[MicroBatch]:
        """Micro-batches of a batch that is on the device as a whole.

        Two at most: all further ones are like the second, with the gradients beside its activations.
        """
        size, batch_size = self.target.micro_batch_size, self.training.batch_size
        batch = [torch.empty(batch_size, seq_len, dtype=torch.long) for _ in ("ids", "targets")]
        for tensor in batch:
            tracker.hold(tensor, "inputs")
        ids, targets = (tensor[:size] for tensor in batch)
        return [MicroBatch(slice(size), ids, targets)] * min(-(-batch_size // size), 2)

    def _accumulate(self, micro_batches: list[MicroBatch], num_targets: int) -> None:
        shares = accumulate_gradients(
            self.step,
            micro_batches,
            num_targets,
            states=[None] * len(micro_batches),
            dropout_seeds=[0] * len(micro_batches),
            output_path=self.output_path,
            scaler=torch.amp.GradScaler("cpu", enabled=False),  # a loss scale is a value, which no tensor has here
        )
        deque(shares, maxlen=0)  # runs through, and holds none of them

    def persistent_bytes(self) -> int:
        """Bytes of all parameters, their gradients and the optimizer's tensors of the same shape."""
        total = 0
        for parameter in self.model.parameters():
            kept = sum(value.nbytes for _, value in self._state_of(parameter) if value.shape == parameter.shape)
            total += 2 * parameter.nbytes + kept
        return total

    def _state_of(self, parameter: nn.Parameter) -> Iterator[tuple[str, Tensor]]:
        state = self.update.optimizer.state.get(parameter, {})
        yield from ((name, value) for name, value in state.items() if isinstance(value, Tensor))

    def _other_sizes(self, seq_len: int) -> set[int]:
        """Tensor sizes that do not come from the vocabulary. A V that is none of them is recognized by its size."""
        embeddings = {id(parameter) for parameter in self.model.tying.parameters()}
        others = [parameter for parameter in self.model.parameters() if id(parameter) not in embeddings]
        rows = self.target.micro_batch_size * seq_len
        dtype = torch.float16 if self.target.precision == "fp16" else torch.float32
        with traced_as(self.target.device):
            chunks = head.chunk_lengths(rows, self.model.tying.output_weight(), dtype)
        return {size for parameter in others for size in parameter.shape} | {seq_len, rows} | chunks


def _keep_no_attention_mask(model: LanguageModel) -> None:
    """Switch dropout in attention off: fused attention on a GPU keeps no mask, which that on a CPU would."""
    for module in model.modules():
        if isinstance(module, Attention):
            module.dropout = 0.0


def _keep_gates(model: LanguageModel) -> None:
    """Count what a recurrent kernel keeps for the backward pass: four gates and a cell of every position.

    It lies in memory of the kernel's own, which no trace shows. A lower bound: kernels differ in what else they keep.
    """

    def keep(layer: nn.Module, inputs: Any, results: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        outputs, *state = results  # (B, T, H)
        kept: Tensor = _Kept.apply(outputs, outputs.new_empty(*outputs.shape, 5))  # type: ignore[no-untyped-call]
        return kept, *state

    for module in model.modules():
        if isinstance(module, LstmLayer):
            module.register_forward_hook(keep)


class _Kept(torch.autograd.Function):
    """Returns its first argument and holds the second until the backward pass."""

    @staticmethod
    def forward(ctx: Any, outputs: Tensor, kept: Tensor) -> Tensor:
        ctx.save_for_backward(kept)
        return outputs.view_as(outputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None
