"""The tensors of a checkpoint, without their values. Free of torch, until a file of torch is read."""

from collections.abc import Callable, Iterable

from tiedlm.checkpoints.checkpoint_files import CheckpointFiles, WeightFiles
from tiedlm.checkpoints.json_text import shown
from tiedlm.checkpoints.refusal import unreadable
from tiedlm.checkpoints.safetensors_header import read_header
from tiedlm.checkpoints.stored_tensor import Tensors


def read_tensors(files: CheckpointFiles, weights: WeightFiles, wanted: Callable[[str], bool]) -> Tensors:
    """All tensors by name. On a hub only files are asked which hold a tensor that `wanted` picks by its name."""
    tensors: Tensors = {}
    for name in _to_read(files, weights, wanted):
        found = _of_file(files, weights.kind, name)
        for repeated in found.keys() & tensors.keys():
            raise unreadable(files.place, f"{shown(repeated)} is in {tensors[repeated].file} and in {name}")
        for tensor, shard in weights.index.items():
            if shard == name and tensor not in found:
                raise unreadable(files.place, f"its index says that {shown(tensor)} is in {name}, which has none")
        tensors.update(found)
    return tensors


def _to_read(files: CheckpointFiles, weights: WeightFiles, wanted: Callable[[str], bool]) -> Iterable[str]:
    if files.folder is not None or not weights.index:
        return weights.names
    return sorted({shard for tensor, shard in weights.index.items() if wanted(tensor)})


def _of_file(files: CheckpointFiles, kind: str, name: str) -> Tensors:
    if kind == "safetensors":
        return read_header(files.open(name), name)
    if files.folder is None:
        raise unreadable(f"{files.place}, {name}", "only safetensors can be read from a hub: download it first")
    path = files.folder / name
    if kind == "torch":
        from tiedlm.checkpoints.torch_file import read_torch_file

        return read_torch_file(path)
    from tiedlm.checkpoints.gguf_file import read_gguf_file

    return read_gguf_file(path)
