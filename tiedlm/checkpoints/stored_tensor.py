"""A tensor of a checkpoint that is on disk, not in memory. Free of torch."""

from dataclasses import dataclass
from typing import Any

from tiedlm.checkpoints.byte_source import ByteSource


@dataclass(frozen=True)
class StoredTensor:
    """Where its bytes lie: `num_bytes` from `start` on in `source`, which is the file `file` of the checkpoint.

    `storage` is the same for tensors that a file keeps as one and the same memory; "" where it keeps each apart.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    file: str
    source: ByteSource
    start: int
    num_bytes: int
    storage: str = ""

    def document(self) -> dict[str, Any]:
        """As in the JSON of `audit`."""
        return {"name": self.name, "shape": list(self.shape), "dtype": self.dtype, "file": self.file}


Tensors = dict[str, StoredTensor]
