"""Chunk sizes of the cross-entropy: how many rows of logits and of the output embedding are processed at once.

Rows of a chunk = min(max(CHUNK_ENTRIES // V, MIN_ROWS), MAX_ROWS), by the type of the device.
"""

from torch import Tensor

from tiedlm.kernels.tracing import device_type, is_traced

CHUNK_ENTRIES = {"cpu": 1 << 25, "cuda": 1 << 26}
"""Logits in a chunk: with 2 bytes each that is 64 and 128 MiB."""
MIN_ROWS = 256
"""A chunk has no fewer: adding up the gradient of the matrix would take longer than computing it."""
MAX_ROWS = {"cpu": 512, "cuda": 8192}
_UNLIMITED = 1 << 62
BLOCK_TOKENS = {"cpu": 8192, "cuda": _UNLIMITED}
"""Rows of the matrix in one product: on a CPU more are slower, and need a larger buffer for the rounded product."""
SOFTMAX_ENTRIES = {"cpu": 1 << 19, "cuda": 1 << 25}
"""Logits whose softmax is taken at once: on a CPU as many as its cache holds."""
TRACED_CHUNKS = 3
"""Chunks in a trace: the second is made while the first is still held, and so is every further one."""


def slices(length: int, size: int) -> list[slice]:
    """As few as `size` allows, and as nearly of one length as can be; the first is one of the longest."""
    count = -(-length // size)
    longest = -(-length // count) if count else 0
    return [slice(start, min(start + longest, length)) for start in range(0, length, longest or 1)]


def shortened(chunks: list[slice]) -> list[slice]:
    """All `chunks`; in a trace, where one is like another, the first ones alone."""
    return chunks[:TRACED_CHUNKS] if is_traced() else chunks


def blocks(matrix: Tensor) -> list[slice]:
    """The rows of a matrix (V, E), in blocks for one product each."""
    return shortened(slices(len(matrix), size_for(matrix, BLOCK_TOKENS)))


def max_rows(weight: Tensor, entries: dict[str, int]) -> int:
    """The most rows that go through at once, where at most so many `entries` of scores may."""
    fitting = size_for(weight, entries) // len(weight)
    return min(max(fitting, MIN_ROWS), size_for(weight, MAX_ROWS))


def size_for(tensor: Tensor, sizes: dict[str, int]) -> int:
    """The size for the device that `tensor` is on, or stands for."""
    return sizes.get(device_type(tensor), sizes["cpu"])
