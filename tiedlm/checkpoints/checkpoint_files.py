"""A checkpoint as named files, on disk or on a hub, and which of them hold the weights. Free of torch."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiedlm.checkpoints.byte_source import ByteSource, LocalFile, is_within, read_whole
from tiedlm.checkpoints.json_text import mapping_of, shown
from tiedlm.checkpoints.refusal import unreadable
from tiedlm.paths import reason

_LARGEST_CONFIG = 20_000_000
_LARGEST_INDEX = 100_000_000
_NUMBERED = re.compile(r"(.*)-(\d{5})-of-(\d{5})(\.\w+)")
Open = Callable[[str], ByteSource]


@dataclass(frozen=True)
class CheckpointFiles:
    """The names of a checkpoint's files, and how one of them is opened; `place` is the checkpoint in messages."""

    place: str
    names: frozenset[str]
    open: Open
    folder: Path | None = None

    def json(self, name: str, at_most: int = _LARGEST_CONFIG) -> dict[str, Any] | None:
        """A JSON file of it; None where there is none."""
        if name not in self.names:
            return None
        source = self.open(name)
        return mapping_of(read_whole(source, at_most), source.name)


@dataclass(frozen=True)
class WeightFiles:
    """Those that hold the weights, all of one kind (safetensors, torch, gguf).

    `index` says in which file each tensor is, where there is such an index.
    """

    kind: str
    names: Sequence[str]
    index: dict[str, str] = field(default_factory=dict)


def files_of_folder(folder: Path) -> CheckpointFiles:
    """The files directly in a folder."""
    try:
        names = frozenset(path.name for path in folder.iterdir() if path.is_file() or path.is_symlink())
    except OSError as error:
        raise unreadable(folder, reason(error, folder)) from None
    return CheckpointFiles(str(folder), names, lambda name: LocalFile(folder / name), folder)


_SUFFIXES = {".safetensors": "safetensors", ".bin": "torch", ".pt": "torch", ".pth": "torch", ".gguf": "gguf"}


def kind_of_file(name: str) -> str | None:
    """What kind of weights a file of this name holds; None where it is none of those that can be read."""
    return next((kind for suffix, kind in _SUFFIXES.items() if name.endswith(suffix)), None)


def weight_files(files: CheckpointFiles) -> WeightFiles:
    """What `from_pretrained` would read, in its order; else any safetensors or GGUF files. Raises ConfigError."""
    for kind, stem, suffix in (
        ("safetensors", "model", ".safetensors"),
        ("torch", "pytorch_model", ".bin"),
        ("safetensors", "adapter_model", ".safetensors"),
        ("torch", "adapter_model", ".bin"),
    ):
        if f"{stem}{suffix}" in files.names:
            return WeightFiles(kind, [f"{stem}{suffix}"])
        index = files.json(f"{stem}{suffix}.index.json", _LARGEST_INDEX)
        if index is not None:
            return _of_index(index, files, kind, f"{stem}{suffix}.index.json")
    for suffix in (".safetensors", ".gguf"):
        names = sorted(name for name in files.names if name.endswith(suffix))
        if names:
            _check_numbers(names, files.place)
            return WeightFiles(_SUFFIXES[suffix], names)
    known = "model.safetensors, pytorch_model.bin, their index, or a .gguf file"
    raise unreadable(files.place, f"holds no weights that can be read: {known}")


def _of_index(index: dict[str, Any], files: CheckpointFiles, kind: str, name: str) -> WeightFiles:
    place, found = f"{files.place}, {name}", index.get("weight_map")
    if not isinstance(found, dict) or not found:
        raise unreadable(place, "has no weight_map that says in which file each tensor is")
    for tensor, file in found.items():
        if not isinstance(file, str) or not is_within(file):
            raise unreadable(place, f"{shown(tensor)} would be in {shown(file)}, which is no file of this checkpoint")
    shards = sorted({*found.values()})
    missing = [shard for shard in shards if shard not in files.names and not _is_below(files, shard)]
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise unreadable(place, f"names {shown(missing[0])}{more}, of {len(shards):,} files: not there")
    return WeightFiles(kind, shards, found)


def _is_below(files: CheckpointFiles, shard: str) -> bool:
    return files.folder is not None and "/" in shard and (files.folder / shard).is_file()


def _check_numbers(names: Sequence[str], place: str) -> None:
    """Files that are numbered "00001-of-00003" must all be there."""
    for match in filter(None, map(_NUMBERED.fullmatch, names)):
        stem, _, total, suffix = match.groups()
        wanted = (f"{stem}-{number:05}-of-{total}{suffix}" for number in range(1, int(total) + 1))
        missing = next((name for name in wanted if name not in names), None)
        if missing:
            raise unreadable(place, f"{missing} is not there, beside {match[0]}")
