"""The tensors of a GGUF file (llama.cpp), by the `gguf` package. Free of torch."""

from pathlib import Path

from tiedlm.checkpoints.byte_source import LocalFile
from tiedlm.checkpoints.refusal import unreadable
from tiedlm.checkpoints.stored_tensor import StoredTensor, Tensors
from tiedlm.errors import ConfigError, Problem


def read_gguf_file(path: Path) -> Tensors:
    """The tensors by name, with shapes as (rows, columns). Raises ConfigError, also where `gguf` is not installed."""
    source = LocalFile(path)
    if source.size() < 24:
        raise unreadable(path, f"has {source.size()} bytes: too few for a GGUF file")
    try:
        from gguf import GGUFReader
    except ImportError:
        raise ConfigError(Problem("", f"{path}: GGUF needs one more package: pip install 'tiedlm[gguf]'")) from None
    try:
        found = [
            (each.name, tuple(int(size) for size in reversed(each.shape)), each.tensor_type.name, each)
            for each in GGUFReader(path).tensors
        ]
    except Exception as error:  # noqa: BLE001 (the reader checks little, and fails in as many ways as there are)
        said = (str(error) or type(error).__name__).splitlines()[0]
        raise unreadable(path, f"is damaged, or no GGUF file: {said[:160]}") from None
    tensors = {}
    for name, shape, dtype, each in found:
        start, num_bytes = int(each.data_offset), int(each.n_bytes)
        if start + num_bytes > source.size():
            raise unreadable(path, f"ends before {name} does: it was not written or copied whole")
        tensors[name] = StoredTensor(name, shape, dtype, path.name, source, start, num_bytes)
    return tensors
