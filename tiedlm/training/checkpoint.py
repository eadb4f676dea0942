"""Checkpoints: folders that are written completely or not at all, and read back from the newest valid one.

`step-<n>/` holds model.safetensors (weights by their stable names), optimizer.pt (read with `weights_only`),
progress.json (counters), state.safetensors (only where a recurrent body hands its state to the next step), and
manifest.json (size and SHA-256 of the others, written last).
"""

import hashlib
import json
import os
import pickle
import re
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from tiedlm.errors import RunError
from tiedlm.files import permit, remove_folder, sync_folder
from tiedlm.paths import reason
from tiedlm.talk import Talk

_NAME = re.compile(r"step-(\d+)")
_MANIFEST = "manifest.json"
_FILES = ("model.safetensors", "optimizer.pt", "progress.json")
_STATE = "state.safetensors"
_VALIDATION = "validation_nats_per_token"
Read = TypeVar("Read")


@dataclass
class Snapshot:
    """Everything that the next step needs: tensors by name, optimizer state, counters as plain JSON values.

    `tokens_sha256` is the hash of the tokens it was trained on, `state` (B, S) what a recurrent body starts the next
    step from, `validation` the nats per token of the validation split if that was scored after this step.
    """

    step: int
    weights: dict[str, Tensor]
    optimizer: dict[str, Any]
    progress: dict[str, Any]
    tokens_sha256: str = ""
    state: Tensor | None = None
    validation: float | None = None


def save(folder: Path, snapshot: Snapshot, keep_last: int) -> Path:
    """Write a checkpoint, under its final name once it is complete, then remove old ones as `rotate` does.

    Raises RunError("diverged") where a weight is not finite, RunError("disk") that names the path where it cannot be
    written; the checkpoints before it stay.
    """
    for name, tensor in snapshot.weights.items():
        if not tensor.isfinite().all():
            raise RunError("diverged", f"after step {snapshot.step} {name} is not finite", snapshot.step)
    final = folder / f"step-{snapshot.step}"
    partial = folder / f".{final.name}.part"
    try:
        for abandoned in folder.glob(".step-*.part"):  # by a process that was killed while it saved
            remove_folder(abandoned)
        partial.mkdir(parents=True)
        save_file({name: tensor.contiguous() for name, tensor in snapshot.weights.items()}, partial / _FILES[0])
        with (partial / _FILES[1]).open("wb") as file:  # not by name: the error would not tell what the system said
            torch.save(snapshot.optimizer, file)
        if snapshot.state is not None:
            save_file({"state": snapshot.state.contiguous()}, partial / _STATE)
        counters = {**snapshot.progress, "tokens_sha256": snapshot.tokens_sha256, _VALIDATION: snapshot.validation}
        (partial / _FILES[2]).write_text(json.dumps(counters, indent=1), encoding="utf-8")
        _write_manifest(partial)
        remove_folder(final)
        partial.rename(final)
        sync_folder(folder)
        rotate(folder, snapshot.step, keep_last)
    except (OSError, SafetensorError, RuntimeError) as error:  # torch.save reports a full disk as RuntimeError
        shutil.rmtree(partial, ignore_errors=True)
        message = f"checkpoint {final} could not be written: {_reason(error, final)}"
        raise RunError("disk", message, snapshot.step) from error
    return final


def _reason(error: Exception, path: Path) -> str:
    """Why it could not be written: the system's own error, which torch keeps beside its error and safetensors in it."""
    behind = error if isinstance(error, OSError) else error.__context__
    number = re.search(r"\(os error (\d+)\)", str(error))
    if number:
        behind = OSError(int(number[1]), os.strerror(int(number[1])))
    return reason(behind, path) if isinstance(behind, OSError) else str(error).splitlines()[0]


def load_newest(folder: Path, talk: Talk, *, optimizer: bool = True) -> Snapshot | None:
    """The newest valid checkpoint, or None where there is none; `talk` names each invalid one that is skipped.

    Without `optimizer` the optimizer's state, twice as large as the weights, is not read.
    """
    return _first_valid(_numbered(folder), talk, partial(_load, optimizer=optimizer))


def load_step(folder: Path, step: int, talk: Talk, *, optimizer: bool = True) -> Snapshot | None:
    """The checkpoint of one step; None where there is none, or an invalid one, which `talk` names."""
    return _first_valid(_of_step(folder, step), talk, partial(_load, optimizer=optimizer))


def load_part(folder: Path, prefix: str, talk: Talk, step: int | None = None) -> tuple[int, dict[str, Tensor]] | None:
    """Step and weights whose names begin with `prefix`, of the newest valid checkpoint or of one step.

    Nothing else is read: files are held against their sizes, for hashes would take reading all of them.
    """
    candidates = _numbered(folder) if step is None else _of_step(folder, step)
    return _first_valid(candidates, talk, partial(_read_part, prefix=prefix), hashes=False)


def _read_part(step: int, path: Path, prefix: str) -> tuple[int, dict[str, Tensor]]:
    with safe_open(path / _FILES[0], "pt") as file:
        names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118 (it is no mapping)
        return step, {name: file.get_tensor(name) for name in names}


def newest_step(folder: Path) -> int:
    """The step of the newest checkpoint, valid or not; 0 where there is none."""
    return max((step for step, _ in _numbered(folder)), default=0)


def validated(folder: Path) -> dict[int, float]:
    """Nats per token of the validation split by step, for the checkpoints saved right after it was scored."""
    scores = {}
    for step, path in _numbered(folder):
        with suppress(OSError, ValueError, TypeError, KeyError):  # damaged: it is not the best of anything
            scores[step] = float(json.loads((path / _FILES[2]).read_text(encoding="utf-8"))[_VALIDATION])
    return scores


def _first_valid(
    candidates: Iterable[tuple[int, Path]], talk: Talk, read: Callable[[int, Path], Read], *, hashes: bool = True
) -> Read | None:
    for step, path in candidates:
        wrong = whats_wrong(path, hashes=hashes)
        if wrong is None:
            try:
                return read(step, path)
            except pickle.UnpicklingError:
                wrong = "its optimizer.pt holds something else than tensors and numbers, which is never loaded"
            except (OSError, SafetensorError, RuntimeError, ValueError, KeyError) as error:
                wrong = f"it cannot be read: {str(error).splitlines()[0]}"
        talk.say(f"checkpoint {path} is passed over: {wrong}")
    return None


def whats_wrong(path: Path, *, hashes: bool = True) -> str | None:
    """What makes a checkpoint invalid, in words; None where nothing does. Without `hashes` only sizes are compared."""
    try:
        manifest = json.loads((path / _MANIFEST).read_text(encoding="utf-8"))
        names = [*_FILES, *([_STATE] if _STATE in manifest or (path / _STATE).exists() else [])]
        entries = [(path / name, dict(manifest[name])) for name in names]
    except (OSError, ValueError, KeyError, TypeError):
        return f"its {_MANIFEST} is missing or damaged"
    for file, entry in entries:
        name = file.name
        if not file.exists():
            return f"{name} is missing"
        if file.stat().st_size != entry.get("size"):
            return f"{name} has {file.stat().st_size:,} bytes instead of {entry.get('size', 0):,}"
        if hashes and _sha256(file) != entry.get("sha256"):
            return f"{name} is not what was written (SHA-256 differs)"
    return None


def _load(step: int, path: Path, optimizer: bool) -> Snapshot:
    progress = json.loads((path / _FILES[2]).read_text(encoding="utf-8"))
    state_file = path / _STATE
    return Snapshot(
        step=step,
        weights=load_file(path / _FILES[0]),
        optimizer=torch.load(path / _FILES[1], weights_only=True, map_location="cpu") if optimizer else {},
        tokens_sha256=progress.pop("tokens_sha256"),
        validation=progress.pop(_VALIDATION, None),
        progress=progress,
        state=load_file(state_file)["state"] if state_file.exists() else None,
    )


def _of_step(folder: Path, step: int) -> list[tuple[int, Path]]:
    return [found for found in _numbered(folder) if found[0] == step]


def _numbered(folder: Path) -> list[tuple[int, Path]]:
    """Step and folder of each complete checkpoint, newest first."""
    found = ((_NAME.fullmatch(path.name), path) for path in (folder.iterdir() if folder.is_dir() else ()))
    return sorted(((int(match[1]), path) for match, path in found if match), reverse=True)


def _write_manifest(folder: Path) -> None:
    """Sync every file to the disk, write down its size and SHA-256, then sync the manifest and the folder."""
    manifest = {}
    for path in sorted(folder.iterdir()):
        name = path.name
        permit(path)
        _sync(path)
        manifest[name] = {"size": path.stat().st_size, "sha256": _sha256(path)}
    (folder / _MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    _sync(folder / _MANIFEST)
    sync_folder(folder)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def rotate(folder: Path, newest: int, keep_last: int) -> None:
    """Remove old checkpoints: all but the newest `keep_last` and the one that validated best.

    Those of steps after `newest` were found invalid when the run was resumed, and are removed too. Raises
    RunError("disk").
    """
    numbered = _numbered(folder)
    later = [path for step, path in numbered if step > newest]
    earlier = [(step, path) for step, path in numbered if step <= newest]
    scores = {step: score for step, score in validated(folder).items() if step <= newest}
    best = min(scores, key=lambda step: (scores[step], -step), default=None)
    try:
        for path in [*later, *(path for step, path in earlier[keep_last:] if step != best)]:
            remove_folder(path)
    except OSError as error:
        raise RunError("disk", f"{folder}: an old checkpoint could not be removed: {error}", newest) from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
