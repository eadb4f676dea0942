"""Memory for gradients that stays from one step to the next.

A large block that a process asks for anew comes page by page and filled with zeros: on a CPU that takes about as long
as to write a gradient of a vocabulary's size into it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef


class Rooms:
    """Where gradients of the last step lie, in whose place those of the next one are written.

    Only for what is formed while the activations are there, so that it is a part of a step's peak anyway.
    """

    def __init__(self) -> None:
        self._free: list[Tensor] = []
        self._given: dict[int, StorageWeakRef] = {}

    def empty(self, parameters: Iterable[nn.Parameter]) -> None:
        """Take the gradients off `parameters`; of those that lie in a room, the room is free for the next step."""
        self._free = []
        for parameter in parameters:
            gradient, parameter.grad = parameter.grad, None
            if gradient is not None and _is_whole(gradient) and storage_key(gradient) in self._given:
                self._free.append(gradient)
        self._given = {}

    @contextmanager
    def open(self) -> Iterator[None]:
        """Inside, `room_like` finds them."""
        token = _OPEN.set(self)
        try:
            yield
        finally:
            _OPEN.reset(token)

    def take(self, shape: torch.Size, dtype: torch.dtype) -> Tensor:
        """A free room of this kind with whatever values it has, or a new one."""
        fitting = [index for index, room in enumerate(self._free) if (room.shape, room.dtype) == (shape, dtype)]
        room = self._free.pop(fitting[0]) if fitting else torch.empty(shape, dtype=dtype)
        self._given[storage_key(room)] = StorageWeakRef(room.untyped_storage())
        return room


_OPEN: ContextVar[Rooms | None] = ContextVar("rooms", default=None)


def room_like(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """An uninitialized tensor of the shape of `tensor`, for its gradient."""
    rooms = _OPEN.get()
    if rooms is None or tensor.device.type != "cpu":
        return torch.empty_like(tensor, dtype=dtype)
    return rooms.take(tensor.shape, dtype)


def storage_key(tensor: Tensor) -> int:
    """The same for a tensor and its views, and of no other one as long as it lives or a weak reference to it does."""
    key: int = tensor.untyped_storage()._cdata
    return key


def _is_whole(gradient: Tensor) -> bool:
    """Whether nothing else lies in its memory."""
    is_dense = gradient.layout == torch.strided and gradient.is_contiguous()
    return is_dense and gradient.untyped_storage().nbytes() == gradient.nbytes
