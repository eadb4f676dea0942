"""Tracing a step on fake tensors, which have a size and no values: which device they stand for."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from torch import Tensor

_DEVICE: ContextVar[str | None] = ContextVar("traced", default=None)


@contextmanager
def traced_as(device: str) -> Iterator[None]:
    """Inside, fake tensors stand for those of a device of this type ("cpu", "cuda").

    Of many like repetitions a kernel may then take the first few alone, where all of them take as much memory.
    """
    token = _DEVICE.set(device)
    try:
        yield
    finally:
        _DEVICE.reset(token)


def is_traced() -> bool:
    """Whether a trace is under way: tensors have no values."""
    return _DEVICE.get() is not None


def device_type(tensor: Tensor) -> str:
    """The type of the device that `tensor` is on, or in a trace of that which it stands for."""
    return _DEVICE.get() or tensor.device.type
