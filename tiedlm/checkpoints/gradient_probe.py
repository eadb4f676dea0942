"""A forward and a backward pass that count the paths of the gradient to a matrix, and leave no trace.

The paths are edges of the autograd graph that lead to the matrix as a leaf. Then one backward pass says along how many
of them a gradient comes that is not zero; it forms the gradients of the two matrices and nothing else, and adds to no
`.grad`.
"""

import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from tiedlm.checkpoints.diagnosis import GradientPaths
from tiedlm.checkpoints.memory_sharing import local

_NUM_TOKENS = 4


def probe_gradients(module: nn.Module, first: Tensor, second: Tensor | None) -> GradientPaths:
    """Count the paths to the input embedding `first` (V, D) and the output embedding `second`, if there is one."""
    matrices = [each for each in (first, second) if each is not None and each.requires_grad]
    if not matrices:
        return GradientPaths(problem="both matrices are frozen")
    with no_trace(module, matrices):
        try:
            logits = _logits(module, _ids(first))
        except Exception as error:  # noqa: BLE001 (the module is somebody else's)
            said = str(error).partition("\n")[0][:120]
            return GradientPaths(problem=f"the forward pass failed ({type(error).__name__}: {said})")
        if logits.grad_fn is None:
            return GradientPaths(problem="the logits have no gradient")
        weights = torch.linspace(1, 2, logits.numel(), device=logits.device).view(logits.shape)
        score = (logits.float() * weights).sum()
        edges = [*_edges(score.grad_fn)]
        counts = [sum(leaf is each for _, _, leaf in edges) for each in (first, second)]
        arrived = None if first.is_meta else _arrived(score, edges, matrices)
    return GradientPaths(counts[0], None if second is None else counts[1], arrived)


def _ids(table: Tensor) -> Tensor:
    return (torch.arange(_NUM_TOKENS, device=local(table).device) % table.shape[0])[None]  # (1, T)


def _logits(module: Any, ids: Tensor) -> Tensor:
    """The scores (1, T, V) of a module: by its `logits`, else what it returns, or holds as `logits`."""
    scores = getattr(module, "logits", None)
    result = scores(ids) if callable(scores) else module(ids)
    for _ in range(3):
        if isinstance(result, Tensor):
            return result
        if isinstance(result, Mapping) and "logits" in result:
            result = result["logits"]
        elif hasattr(result, "logits"):
            result = result.logits
        elif isinstance(result, Sequence) and result:
            result = result[0]
    raise TypeError(f"it returns {type(result).__name__}, in which no logits are")


def _edges(root: Any) -> Iterator[tuple[Any, int, Tensor]]:
    """(node, number of its input, leaf) for each edge of the graph that ends in a leaf."""
    waiting, seen = [root], {root}
    while waiting:
        node = waiting.pop()
        for number, (below, _) in enumerate(node.next_functions):
            if below is None:
                continue
            leaf = getattr(below, "variable", None)
            if leaf is not None:
                yield node, number, leaf
            elif below not in seen:
                seen.add(below)
                waiting.append(below)


def _arrived(score: Tensor, edges: Sequence[tuple[Any, int, Tensor]], matrices: Sequence[Tensor]) -> int:
    """Along how many of the edges to the matrices a gradient comes that is not zero."""
    found: list[bool] = []

    def watch(number: int) -> Callable[[Any, Any], None]:
        def look(grad_inputs: Any, grad_outputs: Any) -> None:
            gradient = grad_inputs[number]
            found.append(gradient is not None and bool(local(gradient.detach()).any()))

        return look

    with ExitStack() as hooks:
        for node, number, leaf in edges:
            if any(leaf is each for each in matrices):
                hooks.callback(node.register_hook(watch(number)).remove)
        torch.autograd.grad(score, list(dict.fromkeys(matrices)), allow_unused=True)
    return sum(found)


@contextmanager
def no_trace(module: nn.Module, matrices: Sequence[Tensor]) -> Iterator[None]:
    """Inside, the module computes as in evaluation, with gradients; afterwards all is as it was.

    Restored are training flags, buffers, gradients and the states of the random generators; hooks on the matrices are
    not called.
    """
    flags = {each: each.training for each in module.modules()}
    kept = [_Kept(each) for each in module.modules()]
    gradients = [(each, each.grad) for each in module.parameters()]
    hooks = [(each, each._backward_hooks) for each in matrices]
    with _random_states():
        try:
            for each in flags:
                each.training = False
            for matrix, _ in hooks:
                matrix._backward_hooks = None
            with torch.enable_grad():
                yield
        finally:
            for each, flag in flags.items():
                each.training = flag
            for matrix, held in hooks:
                matrix._backward_hooks = held
            for parameter, gradient in gradients:
                parameter.grad = gradient
            for each_kept in kept:
                each_kept.restore()


class _Kept:
    """The buffers of one module, and what it notes of them in plain attributes (as how far a table reaches)."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.buffers = dict(module._buffers)
        self.not_stored = set(module._non_persistent_buffers_set)
        self.values = [(each, each.clone()) for each in self.buffers.values() if each is not None]
        self.notes = _notes(module)

    @torch.no_grad()
    def restore(self) -> None:
        held = self.module._buffers
        is_same = held.keys() == self.buffers.keys() and all(held[name] is each for name, each in self.buffers.items())
        if not is_same:
            held.clear()
            held.update(self.buffers)
            self.module._non_persistent_buffers_set.clear()
            self.module._non_persistent_buffers_set.update(self.not_stored)
            attributes = vars(self.module)
            for name in _notes(self.module).keys() - self.notes.keys():
                del attributes[name]
            attributes.update(self.notes)
        for buffer, value in self.values:
            if not buffer.is_meta and not torch.equal(buffer, value):
                buffer.copy_(value)


def _notes(module: nn.Module) -> dict[str, Any]:
    """Its own plain attributes, without those that torch keeps."""
    kinds = (bool, int, float, str, tuple, torch.dtype, torch.device, type(None))
    return {name: value for name, value in vars(module).items() if name != "training" and isinstance(value, kinds)}


@contextmanager
def _random_states() -> Iterator[None]:
    of_python = random.getstate()
    numpy: Any = sys.modules.get("numpy")
    of_numpy = numpy.random.get_state() if numpy is not None else None
    with torch.random.fork_rng():
        yield
    random.setstate(of_python)
    if of_numpy is not None:
        numpy.random.set_state(of_numpy)
