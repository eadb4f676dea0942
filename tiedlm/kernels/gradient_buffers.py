"""Memory for gradients that is kept from one step to the next.

A large block that a process allocates anew comes page by page and filled with zeros: on a CPU that takes about as long
as writing a gradient of a vocabulary's size into it. `gradient_buffer` must equal `torch.empty_like`, which is the
plain function, in all but where the memory lies.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef


class GradientBuffers:
    """Buffers that held gradients of the last step and will hold those of the next one.

    Only for gradients that are formed while the activations are there: they are part of a step's peak anyway.
    """

    def __init__(self) -> None:
        self._free: list[Tensor] = []
        self._in_use: dict[int, StorageWeakRef] = {}

    def release(self, parameters: Iterable[nn.Parameter]) -> None:
        """Set the gradients of `parameters` to None; the buffers that they lie in are free for the next step.

        Buffers in which no such gradient lies are let go.
        """
        self._free = []
        for parameter in parameters:
            gradient, parameter.grad = parameter.grad, None
            if gradient is not None and _fills_its_storage(gradient) and storage_key(gradient) in self._in_use:
                self._free.append(gradient)
        self._in_use = {}

    @contextmanager
    def active(self) -> Iterator[None]:
        """Inside, `gradient_buffer` takes from these."""
        token = _ACTIVE.set(self)
        try:
            yield
        finally:
            _ACTIVE.reset(token)

    def take(self, shape: torch.Size, dtype: torch.dtype) -> Tensor:
        """A free buffer of this shape and type with whatever values it has, or a new one."""
        fitting = [index for index, buffer in enumerate(self._free) if (buffer.shape, buffer.dtype) == (shape, dtype)]
        buffer = self._free.pop(fitting[0]) if fitting else torch.empty(shape, dtype=dtype)
        self._in_use[storage_key(buffer)] = StorageWeakRef(buffer.untyped_storage())
        return buffer


_ACTIVE: ContextVar[GradientBuffers | None] = ContextVar("gradient_buffers", default=None)


def gradient_buffer(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """An uninitialized tensor of the shape of `tensor`, for its gradient."""
    buffers = _ACTIVE.get()
    if buffers is None or tensor.device.type != "cpu":
        return torch.empty_like(tensor, dtype=dtype)
    return buffers.take(tensor.shape, dtype)


def storage_key(tensor: Tensor) -> int:
    """Equal for a tensor and its views; unique as long as the storage or a weak reference to it lives."""
    key: int = tensor.untyped_storage()._cdata
    return key


def _fills_its_storage(gradient: Tensor) -> bool:
    """Whether nothing else lies in its memory."""
    is_dense = gradient.layout == torch.strided and gradient.is_contiguous()
    return is_dense and gradient.untyped_storage().nbytes() == gradient.nbytes
