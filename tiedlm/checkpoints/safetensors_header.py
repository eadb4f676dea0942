"""The header of a safetensors file: which tensors it holds, and where. Free of torch.

Eight bytes (little endian) give the length of a JSON object, which gives dtype, shape and place of each tensor; all
else are the tensors, without gaps (https://github.com/huggingface/safetensors#format). Every figure is checked before
anything is made of it.
"""

from collections.abc import Iterable
from typing import Any, TypeGuard

from tiedlm.checkpoints.byte_source import ByteSource
from tiedlm.checkpoints.json_text import mapping_of, shown
from tiedlm.checkpoints.refusal import unreadable
from tiedlm.checkpoints.stored_tensor import StoredTensor, Tensors

_LENGTH_BYTES = 8
LONGEST_HEADER = 100_000_000
"""Bytes; the format allows no more."""
_BITS = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 16),
    **dict.fromkeys(("U32", "I32", "F32"), 32),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 64),
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
}
_LARGEST = 2**63


def read_header(source: ByteSource, file: str) -> Tensors:
    """The tensors of one file, `file` being its name in the checkpoint; ConfigError where the header is not sound."""
    size = source.size()
    if size < _LENGTH_BYTES:
        raise unreadable(source.name, f"has {size} bytes: too few for a safetensors file")
    length = int.from_bytes(source.read(0, _LENGTH_BYTES), "little")
    if length > min(LONGEST_HEADER, size - _LENGTH_BYTES):
        limit = f"the file has {size:,}" if length <= LONGEST_HEADER else f"at most {LONGEST_HEADER:,} are allowed"
        raise unreadable(source.name, f"is no sound safetensors file: its header would have {length:,} bytes, {limit}")
    entries = mapping_of(source.read(_LENGTH_BYTES, length), f"{source.name}, header")
    entries.pop("__metadata__", None)
    start = _LENGTH_BYTES + length
    tensors = {name: _tensor(name, entry, source, file, start) for name, entry in entries.items()}
    _check_places(tensors.values(), source.name, start, size)
    return tensors


def _tensor(name: str, entry: Any, source: ByteSource, file: str, data_start: int) -> StoredTensor:
    place = f"{source.name}, tensor {shown(name)}"
    if not isinstance(entry, dict):
        raise unreadable(place, "must be an object with dtype, shape and data_offsets")
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in _BITS:
        raise unreadable(place, f"dtype {shown(dtype)} is not one that safetensors has")
    if not _are_counts(shape):
        raise unreadable(place, f"shape {shown(shape)} is no list of sizes")
    if not _are_counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise unreadable(place, f"data_offsets {shown(offsets)} are not [begin, end]")
    begin, end = offsets
    num_bits = _product(shape) * _BITS[dtype]
    if num_bits != 8 * (end - begin):
        wanted = "more than any file" if num_bits >= _LARGEST else f"{num_bits / 8:,.10g}"
        raise unreadable(place, f"has {end - begin:,} bytes, its shape {shown(shape)} of {dtype} takes {wanted}")
    return StoredTensor(name, tuple(shape), dtype, file, source, data_start + begin, end - begin)


def _are_counts(values: Any) -> TypeGuard[list[int]]:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < _LARGEST for value in values)


def _product(shape: Iterable[int]) -> int:
    """The number of entries; at least 2**63 where it is that or more, so that it never becomes slow to work out."""
    sizes = [*shape]
    if 0 in sizes:
        return 0
    product = 1
    for size in sizes:
        product *= size
        if product >= _LARGEST:
            break
    return product


def _check_places(tensors: Iterable[StoredTensor], place: str, data_start: int, size: int) -> None:
    """Each tensor begins where the one before it ends, and the last one ends with the file."""
    end, previous = data_start, ""
    for tensor in sorted(tensors, key=lambda tensor: (tensor.start, tensor.num_bytes)):
        if tensor.start != end:
            what = "overlaps" if tensor.start < end else "leaves a gap after"
            before = shown(previous) if previous else "the header"
            raise unreadable(place, f"is no sound safetensors file: {shown(tensor.name)} {what} {before}")
        end, previous = tensor.start + tensor.num_bytes, tensor.name
    if end > size:
        raise unreadable(place, f"has {size:,} bytes, its header promises {end:,}: it was not written or copied whole")
    if end < size:
        raise unreadable(place, f"has {size - end:,} bytes after its last tensor, which belong to none")
