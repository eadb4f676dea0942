"""What a run works with: its config, the device, the data and the model, new or with trained weights."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from tiedlm.config.base import ConfigError, Problem, parse
from tiedlm.data.batches import build_batches
from tiedlm.data.prepare import PreparedData, reopen
from tiedlm.errors import RunError
from tiedlm.model.language_model import LanguageModel, build_model
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder
from tiedlm.talk import SILENT, Talk
from tiedlm.training.checkpoint import Snapshot, load_newest, load_step, validated
from tiedlm.training.config import TrainingConfig
from tiedlm.training.machine import Machine, resolve_machine
from tiedlm.training.trainer import Trainer


@dataclass(frozen=True)
class Setup:
    """A run's config with its machine, its prepared data and its model on the device."""

    config: RunConfig
    machine: Machine
    data: PreparedData
    model: LanguageModel

    def check_tokens(self, snapshot: Snapshot) -> None:
        """Raise ConfigError where the text has changed since the snapshot was trained on it."""
        if snapshot.tokens_sha256 != self.data.tokens_sha256:
            label = self.config.label
            message = f"the text or its tokens are not those that {label} was trained on; --fresh starts it again"
            raise ConfigError(Problem("data", message))


def set_up(config: RunConfig, data: PreparedData) -> Setup:
    """The setup of a run with the starting values of its model. Raises ConfigError.

    Sets the number of threads and the current GPU of this process.
    """
    machine = resolve_machine(config.training, compiles=config.model.compiles)
    if config.training.num_threads:
        torch.set_num_threads(config.training.num_threads)
    if machine.device.type == "cuda":
        torch.cuda.set_device(machine.device)  # some of torch's questions are about the current one
    frequencies = torch.from_numpy(data.frequencies)
    model = build_model(config.model, data.vocab_size, config.max_seq_len, frequencies)
    model.initialize(config.seed, config.embedding_draw)
    return Setup(config, machine, data, model.to(machine.device))


def build_trainer(setup: Setup, micro_batch_size: int) -> Trainer:
    """A trainer of the setup's model on its train split, before the first step."""
    config, training = setup.config, setup.config.training
    batches = build_batches(
        setup.data.split("train").ids,
        config.data.seq_len,
        training.batch_size,
        config.seed,
        contiguous=config.model.carries_state,
    )
    return Trainer(
        setup.model,
        batches,
        training,
        setup.machine,
        num_steps=training.num_steps(config.data.seq_len, batches.num_windows),
        micro_batch_size=micro_batch_size,
        seed=config.seed,
    )


def open_run(
    directory: Path,
    cache_dir: Path,
    talk: Talk = SILENT,
    device: str | None = None,
    which: Literal["last", "best"] = "last",
) -> Setup:
    """The setup of a trained run, with the weights of its newest checkpoint, or of the one that validated best.

    Token files are compared with their hashes. Raises ConfigError where the folder holds no run or its text has
    changed, RunError where no checkpoint is valid.
    """
    folder = RunFolder(directory)
    config = folder.config()
    if device is not None:
        raw = {**config.training.model_dump(mode="json"), "device": device}
        training = parse(TrainingConfig, raw, "--device", "training")
        config = config.model_copy(update={"training": training})
    setup = set_up(config, reopen(config.data, cache_dir, talk, verify=True))
    snapshot = _load(folder, which, talk)
    if snapshot is None:
        way_out = "a trial keeps none once it is finished" if config.is_tuning_run else "train the run again"
        raise RunError("corrupt", f"{folder.checkpoints} holds no valid checkpoint; {way_out}")
    setup.check_tokens(snapshot)
    setup.model.load_state_dict(snapshot.weights)
    return setup


def _load(folder: RunFolder, which: Literal["last", "best"], talk: Talk) -> Snapshot | None:
    if which == "last":
        return load_newest(folder.checkpoints, talk, optimizer=False)
    step = _best_step(folder)
    talk.say(f"the best in validation of what was saved: step {step}")
    return load_step(folder.checkpoints, step, talk, optimizer=False)


def _best_step(folder: RunFolder) -> int:
    """The step whose checkpoint scored best on the validation split, the last one by what the result says of it.

    Raises ConfigError where nothing was validated.
    """
    scores, result = validated(folder.checkpoints), folder.result()
    if result is not None:
        end = result.splits["validation"]
        scores[result.steps] = end.nll / end.tokens
    if not scores:
        message = (
            "best: no checkpoint was saved at a step where training.evaluate_every had the validation split scored"
        )
        raise ConfigError(Problem("--checkpoint", message))
    return min(scores, key=lambda step: (scores[step], -step))  # of equals the later
