"""Whether two stored matrices are equal: their bytes, block by block, up to the first that differs. Free of torch."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiedlm.checkpoints.stored_tensor import StoredTensor


@dataclass(frozen=True)
class Comparison:
    """`equal` is None where not all blocks were compared, or none could be: `reason` says which."""

    equal: bool | None
    num_compared: int = 0
    num_blocks: int = 0
    reason: str = ""

    @property
    def may_be_equal(self) -> bool:
        """Whether no difference was found among the blocks that were compared."""
        return self.equal is True or (self.equal is None and self.num_compared > 0)

    def in_words(self) -> str:
        """For a table."""
        if self.equal is not None:
            return "equal" if self.equal else "different"
        if self.num_compared:
            return f"equal in {self.num_compared:,} of {self.num_blocks:,} blocks"
        return self.reason or "not compared"


def compare(first: StoredTensor, second: StoredTensor, sample: int | None = None) -> Comparison:
    """Compare two matrices; with `sample`, that many blocks, spread over them evenly."""
    if first.shape != second.shape:
        return Comparison(False, reason="shapes differ")
    if first.dtype != second.dtype:
        return Comparison(None, reason="not comparable")
    if first.num_bytes != second.num_bytes:
        return Comparison(False, reason="sizes differ")
    if first.storage and first.storage == second.storage and first.start == second.start:
        return Comparison(True, reason="same memory")
    block = min(first.source.block_size, second.source.block_size)
    num_blocks = max(-(-first.num_bytes // block), 1)
    picked = range(num_blocks) if sample is None or sample >= num_blocks else _spread(num_blocks, sample)
    num_compared = 0
    for number in picked:
        start = number * block
        length = min(block, first.num_bytes - start)
        num_compared += 1
        if first.source.read(first.start + start, length) != second.source.read(second.start + start, length):
            return Comparison(False, num_compared, num_blocks)
    return Comparison(True if num_compared == num_blocks else None, num_compared, num_blocks)


def _spread(num_blocks: int, sample: int) -> Iterable[int]:
    """`sample` of the blocks, the first and the last among them where it is two or more."""
    if sample == 1:
        return [0]
    return [number * (num_blocks - 1) // (sample - 1) for number in range(sample)]
