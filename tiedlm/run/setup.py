"""What a run works with: its config, the device, the data and the model, new or with trained weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from tiedlm.config.base import ConfigError, Problem, parse
from tiedlm.config.file import apply_settings
from tiedlm.data.batches import build_batches
from tiedlm.data.prepared import PreparedData
from tiedlm.data.tokenizer import Tokenizer
from tiedlm.errors import RunError
from tiedlm.model.language_model import LanguageModel, build_model
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder
from tiedlm.run.stored_data import prepare_again, stored_tokenizer
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
    machine = _machine_of(config)
    frequencies = torch.from_numpy(data.frequencies)
    model = build_model(config.model, data.vocab_size, config.max_seq_len, frequencies)
    model.initialize(config.seed, config.embedding_draw)
    return Setup(config, machine, data, model.to(machine.device))


def _machine_of(config: RunConfig) -> Machine:
    """Raises ConfigError. Sets the number of threads and the current GPU of this process."""
    machine = resolve_machine(config.training, compiles=config.model.compiles)
    if config.training.num_threads:
        torch.set_num_threads(config.training.num_threads)
    if machine.device.type == "cuda":
        torch.cuda.set_device(machine.device)  # some of torch's questions are about the current one
    return machine


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
    settings: Sequence[str] = (),
) -> Setup:
    """The setup of a trained run, with the weights of its newest checkpoint, or of the one that validated best.

    `settings`, `data.corpus.KEY=VALUE`, say where its text lies now. Token files are compared with their hashes.
    Raises ConfigError where the folder holds no run or its text has changed, RunError where no checkpoint is valid.
    """
    folder = RunFolder(directory)
    config = _with_text_at(_config_on(folder, device), settings)
    setup = set_up(config, prepare_again(folder, config, cache_dir, talk))
    snapshot = _load(folder, config, which, talk)
    setup.check_tokens(snapshot)
    setup.model.load_state_dict(snapshot.weights)
    return setup


@dataclass(frozen=True)
class TrainedModel:
    """A trained model on its device with its tokenizer: what it takes to continue a text."""

    config: RunConfig
    model: LanguageModel
    tokenizer: Tokenizer


def open_model(directory: Path, cache_dir: Path, talk: Talk = SILENT, device: str | None = None) -> TrainedModel:
    """The model of a run with the weights of its newest checkpoint, from the run's folder alone.

    A run of an older version of the program, which stored no tokenizer, needs its text or the cache. Raises as
    `open_run` does.
    """
    folder = RunFolder(directory)
    config = _config_on(folder, device)
    tokenizer = stored_tokenizer(folder, config)
    if tokenizer is None:
        setup = open_run(directory, cache_dir, talk, device)
        return TrainedModel(config, setup.model, setup.data.tokenizer)
    machine = _machine_of(config)
    model = build_model(config.model, tokenizer.vocab_size, config.max_seq_len)
    model.initialize(config.seed, config.embedding_draw)
    model.load_state_dict(_load(folder, config, "last", talk).weights)
    return TrainedModel(config, model.to(machine.device), tokenizer)


def _config_on(folder: RunFolder, device: str | None) -> RunConfig:
    """The config of a run, on another device where one is given; raises ConfigError."""
    config = folder.config()
    if device is None:
        return config
    raw = {**config.training.model_dump(mode="json"), "device": device}
    training = parse(TrainingConfig, raw, "--device", "training")
    return config.model_copy(update={"training": training})


def _with_text_at(config: RunConfig, settings: Sequence[str]) -> RunConfig:
    """The config of a trained run with its text elsewhere; raises ConfigError where anything else is set."""
    for setting in settings:
        key = setting.partition("=")[0].strip()
        if not key.startswith("data.corpus."):
            message = "a trained run keeps its settings: only where its text lies can be said, as data.corpus.file=..."
            raise ConfigError(Problem(f"--set {key}", message))
    raw = apply_settings(config.model_dump(mode="json"), settings)
    return parse(RunConfig, raw, "--set") if settings else config


def _load(folder: RunFolder, config: RunConfig, which: Literal["last", "best"], talk: Talk) -> Snapshot:
    """The newest checkpoint of a run, or the one that validated best; raises RunError where none is valid."""
    if which == "last":
        snapshot = load_newest(folder.checkpoints, talk, optimizer=False)
    else:
        step = _best_step(folder)
        talk.say(f"the best in validation of what was saved: step {step}")
        snapshot = load_step(folder.checkpoints, step, talk, optimizer=False)
    if snapshot is None:
        way_out = "a trial keeps none once it is finished" if config.is_tuning_run else "train the run again"
        raise RunError("corrupt", f"{folder.checkpoints} holds no valid checkpoint; {way_out}")
    return snapshot


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
