"""Checkpoints: folders that are either whole or not there, the newest valid one first.

`step-<n>/` holds model.safetensors (weights by their stable names), optimizer.pt (read with `weights_only`),
progress.json (counters), and manifest.json (size and SHA-256 of the others, written last).
"""

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from tiedlm.errors import RunError
from tiedlm.talk import Talk

_NAME = re.compile(r"step-(\d+)")
_FILES = ("model.safetensors", "optimizer.pt", "progress.json")


@dataclass
class Snapshot:
    """Everything that one more step needs: tensors by name, optimizer state, counters as plain JSON values."""

    step: int
    weights: dict[str, Tensor]
    optimizer: dict[str, Any]
    progress: dict[str, Any]


def save(folder: Path, snapshot: Snapshot, keep_last: int) -> Path:
    """Write a checkpoint under its final name only once it is whole, then drop all but the newest `keep_last`.

    Raises RunError("disk") that names the path; the checkpoints before it stay.
    """
    final = folder / f"step-{snapshot.step}"
    partial = folder / f".{final.name}.part"
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        save_file({name: tensor.contiguous() for name, tensor in snapshot.weights.items()}, partial / _FILES[0])
        torch.save(snapshot.optimizer, partial / _FILES[1])
        (partial / _FILES[2]).write_text(json.dumps(snapshot.progress, indent=1), encoding="utf-8")
        _write_manifest(partial)
        shutil.rmtree(final, ignore_errors=True)
        partial.rename(final)
    except (OSError, RuntimeError) as error:  # torch.save and safetensors report a full disk as RuntimeError's kin
        shutil.rmtree(partial, ignore_errors=True)
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).splitlines()[0]
        message = f"checkpoint {final} could not be written: {reason} (is the disk full, or a file-size limit set?)"
        raise RunError("disk", message, snapshot.step) from error
    for _, old in _numbered(folder)[keep_last:]:
        shutil.rmtree(old)
    return final


def load_newest(folder: Path, talk: Talk) -> Snapshot | None:
    """The newest valid checkpoint, or None where there is none; each invalid one is named and passed over."""
    for step, path in _numbered(folder):
        wrong = whats_wrong(path)
        if wrong is None:
            return _load(step, path)
        talk.say(f"checkpoint {path} is passed over: {wrong}")
    return None


def load_weights(folder: Path, talk: Talk) -> dict[str, Tensor]:
    """The weights of the newest valid checkpoint; RunError("corrupt") where there is none."""
    for _, path in _numbered(folder):
        wrong = whats_wrong(path)
        if wrong is None:
            return load_file(path / _FILES[0])
        talk.say(f"checkpoint {path} is passed over: {wrong}")
    raise RunError("corrupt", f"{folder} holds no valid checkpoint; train the run again")


def whats_wrong(path: Path) -> str | None:
    """What makes a checkpoint invalid, in words; None where nothing does."""
    try:
        manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "its manifest.json is missing or damaged"
    for name in _FILES:
        file, entry = path / name, manifest.get(name, {})
        if not file.exists():
            return f"{name} is missing"
        if file.stat().st_size != entry.get("size"):
            return f"{name} has {file.stat().st_size:,} bytes instead of {entry.get('size', 0):,}"
        if _sha256(file) != entry.get("sha256"):
            return f"{name} is not what was written (SHA-256 differs)"
    return None


def _load(step: int, path: Path) -> Snapshot:
    return Snapshot(
        step=step,
        weights=load_file(path / _FILES[0]),
        optimizer=torch.load(path / _FILES[1], weights_only=True, map_location="cpu"),
        progress=json.loads((path / _FILES[2]).read_text(encoding="utf-8")),
    )


def _numbered(folder: Path) -> list[tuple[int, Path]]:
    """Complete checkpoint folders, newest first, by number and not by text."""
    found = ((_NAME.fullmatch(path.name), path) for path in (folder.iterdir() if folder.is_dir() else ()))
    return sorted(((int(match[1]), path) for match, path in found if match), reverse=True)


def _write_manifest(folder: Path) -> None:
    manifest = dict(_manifest_entries(folder))
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _manifest_entries(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    import os

    for name in _FILES:
        path = folder / name
        with path.open("rb") as file:
            os.fsync(file.fileno())
        yield name, {"size": path.stat().st_size, "sha256": _sha256(path)}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
