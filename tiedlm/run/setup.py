"""What a run works with: the machine, the data, the model. Made anew for training, or opened from a run's folder."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from tiedlm.config.base import ConfigError, Problem, parse
from tiedlm.data.config import Split
from tiedlm.data.prepare import PreparedData, prepare
from tiedlm.errors import RunError
from tiedlm.evaluation.frequency import GroupMass
from tiedlm.evaluation.perplexity import score_tokens
from tiedlm.model.language_model import LanguageModel, build_model
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder
from tiedlm.talk import SILENT, Talk
from tiedlm.training.checkpoint import Snapshot, load_newest, load_step, validated
from tiedlm.training.config import TrainingConfig
from tiedlm.training.precision import Machine, resolve_machine


@dataclass(frozen=True)
class Setup:
    """A run's config with its machine, its prepared data and its model on the device."""

    config: RunConfig
    machine: Machine
    data: PreparedData
    model: LanguageModel

    def score(
        self,
        split: Split,
        talk: Talk = SILENT,
        *,
        length: int | None = None,
        seq_len: int | None = None,
        stride: int | None = None,
        mass: GroupMass | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> np.ndarray:
        """Nats of every token of a split (N,) fp32, or of its first `length`; windows as in the config unless said.

        Into `mass` goes what each position gives to its groups. `check` is called now and then, and may raise.
        """
        ids, settings = self.data.split(split).ids, self.config.evaluation
        window = seq_len or settings.seq_len or self.config.data.seq_len
        label = f"{self.config.label}: {split} split"
        with self.machine.autocast(), talk.progress(label, length or len(ids) - 1) as update:

            def reached(done: float, words: str) -> None:
                update(done, words)
                check()

            return score_tokens(
                self.model,
                ids if length is None else ids[: length + 1],
                seq_len=window,
                stride=stride or min(settings.stride or window, window),
                batch_size=settings.batch_size,
                carry_state=self.config.model.carries_state,
                mass=mass,
                update=reached,
            )

    def check_tokens(self, snapshot: Snapshot) -> None:
        """Raise ConfigError where the text has changed since the snapshot was trained on it."""
        if snapshot.tokens_sha256 != self.data.tokens_sha256:
            label = self.config.label
            message = f"the text or its tokens are not those that {label} was trained on; --fresh starts it again"
            raise ConfigError(Problem("data", message))


def set_up(config: RunConfig, cache_dir: Path, talk: Talk = SILENT) -> Setup:
    """Prepare the data and build the model with its starting values. Raises ConfigError and RunError."""
    machine = resolve_machine(config.training, compiles=config.model.compiles)
    if config.training.num_threads:
        torch.set_num_threads(config.training.num_threads)
    if machine.device.type == "cuda":
        torch.cuda.set_device(machine.device)  # some of torch's questions are about the current one
    data = prepare(config.data, cache_dir, talk)
    frequencies = torch.from_numpy(data.frequencies)
    model = build_model(config.model, data.vocab_size, config.max_seq_len, frequencies)
    model.initialize(config.seed, config.embedding_draw)
    return Setup(config, machine, data, model.to(machine.device))


def open_run(
    directory: Path,
    cache_dir: Path,
    talk: Talk = SILENT,
    device: str | None = None,
    which: Literal["last", "best"] = "last",
) -> Setup:
    """A trained run again, with the weights of its newest checkpoint, or of the one that validated best.

    Raises ConfigError where the folder holds no run or its text has changed, RunError where no checkpoint is valid.
    """
    folder = RunFolder(directory)
    config = folder.config()
    if device is not None:
        raw = {**config.training.model_dump(mode="json"), "device": device}
        training = parse(TrainingConfig, raw, "--device", "training")
        config = config.model_copy(update={"training": training})
    prepare(config.data, cache_dir, talk, verify=True)
    setup = set_up(config, cache_dir, talk)
    if which == "best":
        step = _best_step(folder)
        talk.say(f"the best in validation of what was saved: step {step}")
        snapshot = load_step(folder.checkpoints, step, talk, optimizer=False)
    else:
        snapshot = load_newest(folder.checkpoints, talk, optimizer=False)
    if snapshot is None:
        way_out = "a trial keeps none once it is finished" if config.is_tuning_run else "train the run again"
        raise RunError("corrupt", f"{folder.checkpoints} holds no valid checkpoint; {way_out}")
    setup.check_tokens(snapshot)
    setup.model.load_state_dict(snapshot.weights)
    return setup


def _best_step(folder: RunFolder) -> int:
    """The step whose checkpoint scored best on the validation split, as far as is known; the result knows the end.

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
