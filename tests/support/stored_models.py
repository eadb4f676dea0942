"""Runs that were never trained, with a checkpoint as one leaves it: for tests of what reads checkpoints."""

from pathlib import Path
from typing import Any

import torch

from tests.support.small_runs import shared_cache, small_config
from tiedlm.data.prepare import prepare
from tiedlm.experiment.plan import pick
from tiedlm.experiment.reading import load_experiment
from tiedlm.model.language_model import LanguageModel, build_model
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.training.checkpoint import Snapshot, save


def stored_model(folder: Path, tying: dict[str, Any], *settings: str, step: int = 7) -> tuple[Path, LanguageModel]:
    """The folder of such a run with this tying, and the model in its checkpoint: a little away from its start."""
    words = ", ".join(f"{key}: {str(value).lower() if value is True else value}" for key, value in tying.items())
    config = load_experiment(small_config(folder), [f"variants.tied.model.tying={{{words}}}", *settings])
    run = Run(pick(config, "tied", 0), folder / "runs")
    data = prepare(run.config.data, shared_cache())
    frequencies = torch.from_numpy(data.frequencies)
    model = build_model(run.config.model, data.vocab_size, run.config.max_seq_len, frequencies)
    model.initialize(run.config.seed)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.01)
    stored = RunFolder(run.directory)
    stored.claim(run.config)
    stored.keep_data(data)
    save(stored.checkpoints, Snapshot(step, dict(model.state_dict()), {}, {}, data.tokens_sha256), keep_last=9)
    return run.directory, model.eval()
