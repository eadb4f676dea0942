"""The memory that a training step will need, found without having it.

The second step of a run is taken on fake tensors, which have a size and no values, and every storage is followed from
its allocation to its end. Where the tying goes through stages the one with the largest peak counts. They are fake
tensors of the CPU whatever the device, so that a laptop can tell what a GPU will need. Not modelled: what a kernel
takes for itself (cuBLAS keeps some tens of MB), fragmentation, a compiler. Attention on a GPU is taken to be fused.
"""

import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tiedlm.forecast.footprint import CATEGORIES, Footprint, Phase
from tiedlm.kernels import nll as head
from tiedlm.kernels.tracing import traced_as
from tiedlm.model.config import ModelConfig
from tiedlm.model.language_model import LanguageModel, build_model
from tiedlm.model.layers import Attention
from tiedlm.model.lstm import LstmLayer
from tiedlm.model.parameters import embedding_parameters
from tiedlm.training.clipping import GradientLimits, OutputPath
from tiedlm.training.config import TrainingConfig
from tiedlm.training.optimizer import build_optimizer, parameter_groups, start_optimizer_state
from tiedlm.training.precision import Machine, PrecisionName
from tiedlm.training.step import LossShare, build_step

_CUDA_GRANULE = 512
"""The caching allocator hands out multiples of this many bytes."""


@dataclass(frozen=True)
class Target:
    """Where the step is to run, and how: need not be this machine."""

    device: str
    precision: PrecisionName
    micro_batch_size: int


def predict_peak(
    model: ModelConfig, training: TrainingConfig, target: Target, *, vocab_size: int, seq_len: int, max_seq_len: int
) -> Footprint:
    """The footprint of a step with windows of `seq_len`; without figures, but with the reason, where torch cannot."""
    empty = Footprint(device=target.device, precision=target.precision, micro_batch_size=target.micro_batch_size)
    try:
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            found = []
            for stage in build_model(model, vocab_size, max_seq_len).tying.stages:
                step = _Step(build_model(model, vocab_size, max_seq_len), training, target)
                step.model.tying.set_progress(stage)
                found.append(step.trace(vocab_size, seq_len).footprint(empty, step.persistent_bytes()))
            return max(found, key=lambda footprint: footprint.peak_bytes or 0)
    except Exception as error:  # noqa: BLE001 (torch's private parts may change: a run must not be lost over an estimate)
        first_line = (str(error).splitlines() or [""])[0]
        return empty.model_copy(update={"reason": f"{type(error).__name__}: {first_line}"})


class _Step:
    """A step of training as `tiedlm.training.trainer` takes it, less what needs values."""

    def __init__(self, model: LanguageModel, training: TrainingConfig, target: Target) -> None:
        self.model, self.training, self.target = model, training, target
        machine = Machine(torch.device("cpu"), target.precision, compile=False)
        if target.device == "cuda":
            _keep_no_attention_mask(model)
        _keep_gates(model)
        groups = parameter_groups(model, embedding_parameters(model), training)
        self.optimizer = build_optimizer(groups, training, machine)
        self.module, self.scaler = build_step(model, machine, training).train(), machine.scaler()
        self.limits = GradientLimits(groups, training, model, self.optimizer, self.scaler)
        self.output_path = OutputPath(self.module, training)

    def trace(self, vocab_size: int, seq_len: int) -> "_Tracker":
        """Follow the second step, for which the optimizer's state is there."""
        start_optimizer_state(self.optimizer)
        size, batch_size = self.target.micro_batch_size, self.training.batch_size
        granule = _CUDA_GRANULE if self.target.device == "cuda" else 1
        is_telling = vocab_size not in self._other_sizes(seq_len)
        tracker = _Tracker(vocab_size if is_telling else None, granule)
        for parameter in self.model.parameters():
            tracker.hold(parameter, "parameters")
            parameter.register_post_accumulate_grad_hook(tracker.hold_gradient)
            for _, value in self._state_of(parameter):
                tracker.hold(value, "optimizer_state")
        batch = [torch.empty(batch_size, seq_len, dtype=torch.long) for _ in ("ids", "targets")]
        for tensor in batch:
            tracker.hold(tensor, "inputs")
        ids, targets = (tensor[:size] for tensor in batch)
        # of more micro-batches the second is like all further ones: gradients stand beside its activations
        num_micro_batches = min(-(-batch_size // size), 2)
        with traced_as(self.target.device), tracker:
            with self.output_path.apart(self.scaler) as head_gradient:
                for _ in range(num_micro_batches):
                    tracker.phase = "forward"
                    term = LossShare(ids, targets, batch_size * seq_len, num_micro_batches, None, head_gradient)
                    share, _ = self.module(term)
                    tracker.phase = "backward"
                    share.backward()
                    del share, term
                    if head_gradient is not None and head_gradient.total is not None:
                        tracker.hold(head_gradient.total, "gradients")
            del head_gradient
            tracker.phase = "update"
            self.limits.clip()
            self.optimizer.step()
        return tracker

    def persistent_bytes(self) -> int:
        """Of every parameter, its gradient and what the optimizer keeps entry by entry."""
        total = 0
        for parameter in self.model.parameters():
            kept = sum(value.nbytes for _, value in self._state_of(parameter) if value.shape == parameter.shape)
            total += 2 * parameter.nbytes + kept
        return total

    def _state_of(self, parameter: nn.Parameter) -> Iterator[tuple[str, Tensor]]:
        state = self.optimizer.state.get(parameter, {})
        yield from ((name, value) for name, value in state.items() if isinstance(value, Tensor))

    def _other_sizes(self, seq_len: int) -> set[int]:
        """Sizes that tensors have for other reasons than the vocabulary."""
        embeddings = {id(parameter) for parameter in self.model.tying.parameters()}
        others = [parameter for parameter in self.model.parameters() if id(parameter) not in embeddings]
        rows = self.target.micro_batch_size * seq_len
        dtype = torch.float16 if self.target.precision == "fp16" else torch.float32
        with traced_as(self.target.device):
            chunks = head.chunk_lengths(rows, self.model.tying.output_weight(), dtype)
        return {size for parameter in others for size in parameter.shape} | {seq_len, rows} | chunks


def _keep_no_attention_mask(model: LanguageModel) -> None:
    """On the GPU fused attention drops weights without keeping them, on the CPU it cannot drop any."""
    for module in model.modules():
        if isinstance(module, Attention):
            module.dropout = 0.0


def _keep_gates(model: LanguageModel) -> None:
    """For the way back a recurrent kernel keeps four gates and a cell of every position, in memory of its own.

    At least: no trace shows it, and what each kernel keeps besides differs.
    """

    def keep(layer: nn.Module, inputs: Any, results: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        outputs, *state = results  # (B, T, H)
        kept: Tensor = _Kept.apply(outputs, outputs.new_empty(*outputs.shape, 5))  # type: ignore[no-untyped-call]
        return kept, *state

    for module in model.modules():
        if isinstance(module, LstmLayer):
            module.register_forward_hook(keep)


class _Kept(torch.autograd.Function):
    """Gives back its first argument and holds the second until the way back."""

    @staticmethod
    def forward(ctx: Any, outputs: Tensor, kept: Tensor) -> Tensor:
        ctx.save_for_backward(kept)
        return outputs.view_as(outputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


@dataclass(frozen=True)
class _Block:
    """A storage that lives."""

    num_bytes: int
    category: str
    is_vocabulary: bool


class _Tracker(TorchDispatchMode):
    """Follows storages from the operation that returns them until nothing holds them."""

    def __init__(self, vocab_size: int | None, granule: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.vocab_size, self.granule = vocab_size, granule
        self.phase: Phase = "forward"
        self.blocks: dict[int, _Block] = {}
        self.watches: dict[int, weakref.ref[torch.UntypedStorage]] = {}
        self.now: Counter[tuple[str, bool]] = Counter()
        self.total = self.peak = 0
        self.at_peak: Counter[tuple[str, bool]] = Counter()
        self.peak_phase: Phase = "forward"

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor) and leaf.untyped_storage()._cdata not in self.blocks:
                self.hold(leaf, "activations" if self.phase == "forward" else "temporaries")
        if self.total > self.peak:
            self.peak, self.at_peak, self.peak_phase = self.total, self.now.copy(), self.phase
        return result

    def hold(self, tensor: Tensor, category: str) -> None:
        """Count the storage of `tensor` under `category` from now on."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.blocks:
            self._count(replace(self._uncount(key), category=category), key)
            return
        num_bytes = -(-storage.nbytes() // self.granule) * self.granule
        self._count(_Block(num_bytes, category, self.vocab_size in tensor.shape), key)
        self.watches[key] = weakref.ref(storage, lambda _: self._end(key))

    def hold_gradient(self, parameter: Tensor) -> None:
        """What was made on the way back stays as a gradient."""
        if parameter.grad is not None:  # called once it was added up, or found to be nothing
            self.hold(parameter.grad, "gradients")

    def _count(self, block: _Block, key: int) -> None:
        self.blocks[key] = block
        self.now[block.category, block.is_vocabulary] += block.num_bytes
        self.total += block.num_bytes

    def _uncount(self, key: int) -> _Block:
        block = self.blocks.pop(key)
        self.now[block.category, block.is_vocabulary] -= block.num_bytes
        self.total -= block.num_bytes
        return block

    def _end(self, key: int) -> None:
        del self.watches[key]
        self._uncount(key)

    def footprint(self, empty: Footprint, persistent_bytes: int) -> Footprint:
        """The prediction, in `empty`."""
        of_vocabulary = {category: self.at_peak[category, True] for category in CATEGORIES}
        categories = {category: of_vocabulary[category] + self.at_peak[category, False] for category in CATEGORIES}
        found = {
            "peak_bytes": self.peak,
            "peak_phase": self.peak_phase,
            "categories": categories,
            "vocabulary": None if self.vocab_size is None else of_vocabulary,
            "persistent_bytes": persistent_bytes,
        }
        return empty.model_copy(update=found)
