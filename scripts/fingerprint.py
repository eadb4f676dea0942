"""Whether a change of the code changed a number: sixty small trainings, each as hashes of what it left behind.

`scripts/fingerprint > before.json` with the code as it was, `scripts/fingerprint --against before.json` with the code
as it is: exit 1 where one bit of a weight, an optimizer's state, a logged value or a score differs, or a key of a
result. Bits are those of one machine and one version of torch: run both on the same.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file

from tiedlm.experiment.plan import plan
from tiedlm.experiment.reading import experiment_from
from tiedlm.run.execute import execute
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run

V, DIM = 300, 32
BASE: dict[str, Any] = {
    "name": "fingerprint",
    "seeds": [0],
    "data": {"tokenizer": {"type": "bpe", "vocab_size": V}, "seq_len": 32},
    "model": {"num_layers": 2, "dim": DIM, "num_heads": 2, "dropout": 0.1},
    "training": {
        "steps": 8,
        "batch_size": 6,
        "learning_rate": 3e-3,
        "precision": "fp32",
        "device": "cpu",
        "num_threads": 1,
        "evaluate_every": 3,
        "checkpoint_every": 4,
    },
}
TYINGS: dict[str, dict[str, Any]] = {
    "tied": {"type": "tied"},
    "untied": {"type": "untied"},
    "soft": {"type": "soft", "strength": 0.1},
    "soft-mean-square": {"type": "soft", "strength": 50.0, "norm": "mean_square"},
    "partial-vocabulary": {"type": "partial_vocabulary", "shared": 0.5},
    "partial-vocabulary-rare": {"type": "partial_vocabulary", "shared": 40, "share": "rare", "output_bias": True},
    "partial-dimensions": {"type": "partial_dimensions", "shared": 10},
    "projected": {"type": "projected", "bias": True, "activation": "gelu", "norm": True, "strength": 0.1},
    "factorized": {"type": "factorized", "width": 8},
    "factorized-table-and-map": {"type": "factorized", "width": 8, "share": "table_and_map"},
    "factorized-nothing": {"type": "factorized", "width": 40, "share": "nothing"},
    "progressive-tie": {"type": "progressive", "switch_at": 0.6},
    "progressive-untie": {"type": "progressive", "direction": "untie", "switch_at": 0.6},
}
TREATMENT = {
    "input_scale": "sqrt_dim",
    "embedding_norm": "rmsnorm",
    "embedding_dropout": 0.1,
    "embedding_noise": 0.01,
    "input_gradient_factor": 0.5,
    "output_bias": True,
    "init": "by_frequency",
}
LSTM = {"type": "lstm", "num_layers": 2, "dim": DIM, "hidden_dim": 48, "dropout": 0.1}
LLAMA = {
    "positions": "rope",
    "norm": "rmsnorm",
    "feed_forward": "swiglu",
    "bias": False,
    "num_kv_heads": 1,
    "rope_scaling": {"type": "linear", "factor": 2.0},
}
ALBERT = {"layer_sharing": {"cycle": 1}, "separate_norms": True, "positions": "sinusoidal", "num_layers": 3}
LIMITS = {"z_loss": 1e-3, "embedding_max_grad_norm": 0.5, "output_max_grad_norm": 0.3, "embedding_eps": 1e-6}
CLIPPED = {"z_loss": 1e-3, "output_max_grad_norm": 0.3, "embedding_learning_rate_factor": 2.0}
SGD = {"optimizer": "sgd", "momentum": 0.9, "learning_rate": 0.1, "schedule": "wsd"}


def variants() -> dict[str, dict[str, Any]]:
    """Sixty: every strategy under four recipes, and tied and untied under each of the others."""
    both = {name: TYINGS[name] for name in ("tied", "untied")}
    few = {name: TYINGS[name] for name in ("tied", "untied", "projected", "factorized", "progressive-tie", "soft")}
    found: dict[str, dict[str, Any]] = {}
    for name, tying in TYINGS.items():
        found[name] = {"model": {"tying": tying}}
        found[f"{name}-bf16"] = {"model": {"tying": tying}, "training": {"precision": "bf16", "micro_batch_size": 4}}
    for name, tying in few.items():
        found[f"{name}-treated"] = {
            "model": {"tying": {**TREATMENT, **tying}, "logit_softcap": 20.0, "embedding_residual": True},
            "training": {**LIMITS, "micro_batch_size": 4},
        }
        found[f"{name}-lstm"] = {"model": {**LSTM, "tying": tying}, "training": {"micro_batch_size": 4}}
    for name, tying in both.items():
        for kind, body in (("llama", LLAMA), ("albert", ALBERT)):
            found[f"{name}-{kind}"] = {"model": {**body, "tying": tying}}
            found[f"{name}-{kind}-bf16"] = {"model": {**body, "tying": tying}, "training": {"precision": "bf16"}}
        recipes: dict[str, dict[str, Any]] = {
            "full-head": {"head": "full", "z_loss": 1e-3},
            "fp16": {"precision": "fp16", "micro_batch_size": 2},
            "clipped-fp16": {"precision": "fp16", **CLIPPED},
            "clipped-bf16": {"precision": "bf16", **CLIPPED},
            "sgd": SGD,
            "sgd-fp16": {**SGD, "precision": "fp16"},
        }
        for kind, recipe in recipes.items():
            found[f"{name}-{kind}"] = {"model": {"tying": tying}, "training": recipe}
    for name in ("tied", "untied"):
        found[f"{name}-long-bf16"] = {
            "data": {"seq_len": 160},
            "model": {"tying": TYINGS[name], "dropout": 0.0, "max_seq_len": 160},
            "training": {"precision": "bf16", "batch_size": 8},
        }
    return found


def made_up_text() -> str:
    """Words drawn by Zipf's law, some of them in capitals, in short paragraphs."""
    draws = np.random.default_rng(7)
    words = ["".join(draws.choice(list("abcdefghij"), draws.integers(2, 8))) for _ in range(400)]
    text: list[str] = []
    for _ in range(400):
        chosen = [words[min(int(rank), 399)] for rank in draws.zipf(1.4, draws.integers(5, 30))]
        text.append(" ".join(chosen).capitalize() + f" {draws.integers(1000)}.\n\n")
    return "".join(text)


def runs(folder: Path) -> list[Run]:
    """The sixty runs, in `folder`."""
    text = folder / "text.txt"
    text.write_text(made_up_text(), encoding="utf-8")
    corpus = {"type": "text", "file": str(text), "fractions": [0.8, 0.1, 0.1]}
    raw = {**BASE, "data": {**BASE["data"], "corpus": corpus}, "variants": variants()}
    return plan(experiment_from(raw), folder / "runs")


def fingerprint(folder: RunFolder) -> dict[str, str]:
    """What a run left behind, as hashes: the weights, the optimizer, the log, the scores, the result without times."""
    newest = max(folder.checkpoints.glob("step-*"), key=lambda path: int(path.name.removeprefix("step-")))
    optimizer = torch.load(newest / "optimizer.pt", weights_only=True, map_location="cpu")
    result = json.loads(folder.result_file.read_bytes())
    return {
        "weights": digest(sorted(load_file(newest / "model.safetensors").items())),
        "optimizer": digest(sorted(flat(optimizer))),
        "log": digest([without_times(json.loads(line)) for line in folder.metrics_file.read_text().splitlines()]),
        "scores": digest([arrays(path) for path in sorted(folder.path.glob("evaluation/*.npz"))]),
        "result": digest(without_times(result)),
        "keys": digest(sorted(name for name, _ in flat(result))),
    }


TIMES = ("seconds", "steady_seconds", "memory", "versions", "device_name", "config")
"""Of a log and a result what hangs on the hour, the machine or the folder."""


def without_times(value: Any) -> Any:
    """A document less what TIMES names."""
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key not in TIMES}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def arrays(path: Path) -> list[tuple[str, np.ndarray]]:
    """The arrays of an .npz file by name."""
    with np.load(path) as stored:
        return sorted((f"{path.name}:{name}", stored[name]) for name in stored.files)


def flat(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of nested mappings and lists."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{prefix}{key}.")
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from flat(inner, f"{prefix}{index}.")
    else:
        yield prefix, value.numpy() if isinstance(value, torch.Tensor) else value


def digest(value: Any) -> str:
    """Twelve digits of the SHA-256 of a value, arrays by their bytes."""
    hashed = hashlib.sha256()

    def add(part: Any) -> None:
        if isinstance(part, list | tuple):
            for inner in part:
                add(inner)
        elif isinstance(part, np.ndarray):
            hashed.update(f"{part.dtype}{part.shape}".encode() + np.ascontiguousarray(part).tobytes())
        else:
            hashed.update(json.dumps(part, sort_keys=True).encode())

    add(value)
    return hashed.hexdigest()[:12]


def main() -> int:
    """Train, print, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--against", type=Path, metavar="FILE", help="What another version of the code printed.")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="Leave the runs there.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = options.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        found: dict[str, dict[str, str]] = {}
        for run in runs(folder):
            execute(run, cache_dir=folder / "cache")
            found[run.config.variant] = fingerprint(RunFolder(run.directory))
    if options.against is None:
        print(json.dumps(found, indent=1))  # noqa: T201
        return 0
    before: dict[str, dict[str, str]] = json.loads(options.against.read_bytes())
    differing = [
        f"{name}: {', '.join(key for key in found[name] if found[name][key] != before.get(name, {}).get(key))}"
        for name in found
        if found[name] != before.get(name)
    ]
    print(*differing, f"{len(found) - len(differing)} of {len(found)} runs equal to the last bit", sep="\n")  # noqa: T201
    return 1 if differing or before.keys() != found.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
