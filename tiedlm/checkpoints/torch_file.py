"""The tensors of a file that torch.save wrote. Nothing in it is run: a pickle that would run code is refused."""

import pickle
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tiedlm.checkpoints.json_text import shown
from tiedlm.checkpoints.matrix_names import may_be_of_pair
from tiedlm.checkpoints.refusal import unreadable
from tiedlm.checkpoints.stored_tensor import StoredTensor, Tensors

_INSIDE = ("state_dict", "model_state_dict", "model", "module")
"""Keys under which training programs keep the weights."""


class TensorBytes:
    """The bytes of a tensor's values, in their order of rows."""

    block_size = 4 * 2**20
    is_remote = False

    def __init__(self, tensor: Tensor, name: str) -> None:
        self._tensor = tensor
        self.name = name

    @cached_property
    def _bytes(self) -> Tensor:
        return self._tensor.detach().contiguous().reshape(-1).view(torch.uint8)

    def size(self) -> int:
        return len(self._bytes)

    def read(self, start: int, length: int) -> bytes:
        return self._bytes[start : start + length].numpy().tobytes()


def read_torch_file(path: Path) -> Tensors:
    """The tensors by name; those that share memory have the same `storage`. Raises ConfigError."""
    weights = _state_dict(_load(path))
    tensors = {}
    for name, tensor in weights:
        if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_meta:
            if may_be_of_pair(name):
                kind = "on meta, without values" if tensor.is_meta else "sparse or quantized"
                raise unreadable(path, f"{shown(name)} is {kind}: save it as an ordinary tensor")
            continue
        dtype = str(tensor.dtype).removeprefix("torch.")
        storage = tensor.untyped_storage().data_ptr()
        place = f"{storage}:{tensor.data_ptr() - storage}:{tensor.stride()}" if storage else ""
        num_bytes = tensor.numel() * tensor.element_size()
        source = TensorBytes(tensor, str(path))
        tensors[name] = StoredTensor(name, tuple(tensor.shape), dtype, path.name, source, 0, num_bytes, place)
    if not tensors:
        raise unreadable(path, "holds no tensors by name")
    return tensors


def _load(path: Path) -> Any:
    """Mapped where the file is one that can be, so that no value is read before it is compared."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
            except RuntimeError as error:
                if "mmap can only be used" not in str(error):
                    raise
                return torch.load(path, map_location="cpu", weights_only=True)  # written by a torch before 1.6
    except pickle.UnpicklingError:
        message = "holds something else than tensors and numbers: reading it could run code, so it is not read"
        raise unreadable(path, message) from None
    except Exception as error:  # noqa: BLE001 (torch meets a damaged file with whatever goes wrong first)
        said = (str(error) or type(error).__name__).splitlines()[0]
        raise unreadable(path, f"is damaged, or no file of torch.save: {said[:160]}") from None


def _state_dict(loaded: Any) -> Iterator[tuple[str, Tensor]]:
    if isinstance(loaded, Mapping):
        found = [(name, value) for name, value in loaded.items() if isinstance(name, str) and isinstance(value, Tensor)]
        inside = next((loaded[key] for key in _INSIDE if isinstance(loaded.get(key), Mapping)), None)
        yield from found if found or inside is None else _state_dict(inside)
