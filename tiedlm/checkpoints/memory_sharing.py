"""Whether two tensors are one: the same parameter, the same memory, or equal in value."""

from collections.abc import Iterable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from tiedlm.checkpoints.diagnosis import Relation

_ROWS = 4096
"""Rows that are compared at once, so that no copy of a whole matrix is made."""


def is_dtensor(tensor: Tensor) -> bool:
    """Whether it is spread over devices; told by what it has, so that nothing is imported."""
    return hasattr(tensor, "to_local") and hasattr(tensor, "placements")


def local(tensor: Any) -> Tensor:
    """The part of a distributed tensor that lies here; any other tensor as it is."""
    part: Tensor = tensor.to_local() if is_dtensor(tensor) else tensor
    return part


def relation(first: Tensor, second: Tensor) -> Relation:
    """How two matrices relate; values are compared last, and not where there are none (meta tensors)."""
    if first is second:
        return "same parameter"
    one, other = local(first), local(second)
    if share_memory(one, other):
        return "same storage"
    if one.is_meta or other.is_meta:
        return "not known"
    return "equal values" if _are_equal(one, other) else "different"


def share_memory(first: Tensor, second: Tensor) -> bool:
    """Whether any entry of one lies where an entry of the other does."""
    if first.layout != torch.strided or second.layout != torch.strided:
        return False
    if _storage(first) != _storage(second) or not first.numel() or not second.numel():
        return False
    (begin, end), (other_begin, other_end) = _extent(first), _extent(second)
    return begin < other_end and other_begin < end


def view_of(first: Tensor, second: Tensor) -> Literal["", "transposed", "viewed"]:
    """How one is laid over the other, where they share memory; "" where it is in the same way."""
    one, other = local(first), local(second)
    if (one.shape, one.stride(), one.storage_offset()) == (other.shape, other.stride(), other.storage_offset()):
        return ""
    turned = (one.shape[::-1], one.stride()[::-1], one.storage_offset())
    return "transposed" if turned == (other.shape, other.stride(), other.storage_offset()) else "viewed"


def stored_twice(module: nn.Module) -> Iterable[tuple[str, ...]]:
    """Groups of keys of `state_dict()` whose tensors are the same memory in the same layout."""
    groups: dict[Any, list[str]] = {}
    for name, tensor in module.state_dict().items():
        if isinstance(tensor, Tensor) and tensor.numel() and tensor.layout == torch.strided:
            part = local(tensor)
            groups.setdefault((_storage(part), part.storage_offset(), part.shape), []).append(name)
    return [tuple(names) for names in groups.values() if len(names) > 1]


def _storage(tensor: Tensor) -> int:
    key: int = tensor.untyped_storage()._cdata
    return key


def _extent(tensor: Tensor) -> tuple[int, int]:
    """The first byte in its storage, and the one after the last."""
    size = tensor.element_size()
    last = sum((length - 1) * step for length, step in zip(tensor.shape, tensor.stride(), strict=True))
    offset = int(tensor.storage_offset())
    return size * offset, size * (offset + int(last) + 1)


def _are_equal(first: Tensor, second: Tensor) -> bool:
    if first.shape != second.shape or first.dtype != second.dtype:
        return False
    pairs = zip(first.detach().split(_ROWS), second.detach().split(_ROWS), strict=True)
    return all(torch.equal(one, other.to(one.device)) for one, other in pairs)
