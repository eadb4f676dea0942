"""Small checkpoints written by hand: a config.json, and what is stored of the two matrices."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from safetensors.numpy import save_file

V, D = 37, 8
INPUT, OUTPUT = "model.embed_tokens.weight", "lm_head.weight"
Stored = Literal["input", "output", "equal", "unequal", "none"]
STORED: tuple[Stored, ...] = ("input", "output", "equal", "unequal", "none")


def matrices(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two different matrices (V, D), fp32."""
    draw = np.random.default_rng(seed)
    return draw.normal(size=(V, D)).astype(np.float32), draw.normal(size=(V, D)).astype(np.float32)


def tensors(stored: Stored, names: tuple[str, str] = (INPUT, OUTPUT)) -> dict[str, np.ndarray]:
    """What a checkpoint holds: the two as `stored` says, and a layer beside them."""
    first, second = matrices()
    both = {"input": first, "output": second, "equal": first, "unequal": first}
    found = {"model.layers.0.mlp.up_proj.weight": np.ones((D, D), np.float32)}
    if stored in ("input", "equal", "unequal"):
        found[names[0]] = both[stored].copy()
    if stored in ("output", "equal", "unequal"):
        found[names[1]] = (first if stored == "equal" else second).copy()
    return found


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def plant(folder: Path, config: Mapping[str, Any], stored: Stored, names: tuple[str, str] = (INPUT, OUTPUT)) -> Path:
    """A folder with config.json and model.safetensors."""
    write_config(folder, config)
    save_file(tensors(stored, names), folder / "model.safetensors")
    return folder


def llama(flag: bool | None = None, **more: Any) -> dict[str, Any]:
    """The config of a family that both versions of transformers take for untied where it does not say so."""
    return {"model_type": "llama", **({} if flag is None else {"tie_word_embeddings": flag}), **more}


def plant_shards(folder: Path, stored: Stored, flag: bool) -> Path:
    """A folder with one file a tensor, and an index."""
    write_config(folder, llama(flag))
    found = tensors(stored)
    weight_map = {}
    for number, (name, tensor) in enumerate(found.items(), start=1):
        file = f"model-{number:05}-of-{len(found):05}.safetensors"
        save_file({name: tensor}, folder / file)
        weight_map[name] = file
    index = {"metadata": {"total_size": sum(each.nbytes for each in found.values())}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    return folder


def plant_examples(folder: Path) -> None:
    """The checkpoints that docs/audit.md shows."""
    plant(folder / "models" / "base", llama(True), "input")
    plant(folder / "models" / "tuned", llama(True), "unequal")
    plant(folder / "models" / "merged", llama(False), "input")
    plant(folder / "models" / "resaved", llama(True), "equal")
