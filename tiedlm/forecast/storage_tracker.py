"""Memory over a training step on tensors without values: every storage is followed from its allocation to its end."""

import weakref
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, UntypedStorage, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tiedlm.forecast.footprint import CATEGORIES, Footprint, Phase
from tiedlm.training.step import MicroBatchLoss, OutputGradient, TrainingStep


@dataclass(frozen=True)
class _Allocation:
    """A storage that has not been freed."""

    num_bytes: int
    category: str
    is_vocabulary: bool


class StorageTracker(TorchDispatchMode):
    """Tracks storages from the operation that returns them until nothing refers to them.

    Sizes are rounded up to multiples of `granule` bytes. A tensor with a dimension of `vocab_size` counts as one of the
    vocabulary; with None none does.
    """

    def __init__(self, vocab_size: int | None, granule: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.vocab_size, self.granule = vocab_size, granule
        self.phase: Phase = "forward"
        self.blocks: dict[int, _Allocation] = {}
        self.watches: dict[int, weakref.ref[UntypedStorage]] = {}
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
        self._count(_Allocation(num_bytes, category, self.vocab_size in tensor.shape), key)
        self.watches[key] = weakref.ref(storage, lambda _: self._end(key))

    def watch_phases(self, step: TrainingStep) -> None:
        """Set the phase by the calls of `step`, after each of which its backward pass comes."""

        def begin(_: nn.Module, arguments: tuple[MicroBatchLoss | OutputGradient]) -> None:
            (term,) = arguments
            if isinstance(term, OutputGradient):  # part of the backward pass, after all micro-batches
                return
            self.phase = "forward"
            if term.head_gradient is not None and self.hold_gradient not in term.head_gradient.hooks:
                term.head_gradient.hooks.append(self.hold_gradient)

        def end(*_: Any) -> None:
            self.phase = "backward"

        step.register_forward_pre_hook(begin)
        step.register_forward_hook(end)

    def hold_gradient(self, parameter: Tensor) -> None:
        """Count the gradient of `parameter` as such; so far it was a temporary of the backward pass."""
        if parameter.grad is not None:  # autograd calls hooks for undefined gradients too
            self.hold(parameter.grad, "gradients")

    def _count(self, block: _Allocation, key: int) -> None:
        self.blocks[key] = block
        self.now[block.category, block.is_vocabulary] += block.num_bytes
        self.total += block.num_bytes

    def _uncount(self, key: int) -> _Allocation:
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
