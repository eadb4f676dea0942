"""One run of training, step by step."""

import hashlib
import math
import time
from dataclasses import asdict, dataclass, field

import numpy as np
import torch
from torch import Tensor

from tiedlm.config.base import ConfigError, Problem
from tiedlm.data.batches import Batches
from tiedlm.errors import RunError
from tiedlm.kernels.gradient_buffers import GradientBuffers
from tiedlm.model.language_model import LanguageModel
from tiedlm.model.parameters import embedding_parameters
from tiedlm.streams import stream_seed
from tiedlm.training.checkpoint import Snapshot
from tiedlm.training.clipping import GradientLimits, OutputPath
from tiedlm.training.config import TrainingConfig
from tiedlm.training.device_batches import Batch, Feed
from tiedlm.training.memory import Peaks, read_peaks
from tiedlm.training.optimizer import (
    build_optimizer,
    copy_optimizer_state,
    parameter_groups,
    set_learning_rate,
    start_optimizer_state,
)
from tiedlm.training.precision import Machine
from tiedlm.training.recurrent_state import CarriedState
from tiedlm.training.schedule import Schedule
from tiedlm.training.step import LossShare, build_step
from tiedlm.training.update import ScaledUpdate, Update

ARITHMETIC = 4
"""Raised whenever the code rounds otherwise than before: what was half trained then is not gone on with now."""
_UNWRITTEN: dict[str, str | int] = {"arithmetic": 1, "head": "lean"}
"""Circumstances of which nothing was written at first, and what they were then."""
WARM_UP_STEPS = 3
"""The first steps after a start allocate, import and tune; they are left out of the speed."""


@dataclass
class Progress:
    """The counters of a run, saved with it; the speed is `steady_tokens / steady_seconds`."""

    step: int = 0
    tokens_seen: int = 0
    batches_hash: str = ""
    first_loss: float = math.nan
    last_loss: float = math.nan
    steady_tokens: int = 0
    steady_seconds: float = 0.0
    seconds: float = 0.0
    peaks: Peaks = field(default_factory=Peaks)


@dataclass(frozen=True)
class StepRecord:
    """What one step did: its number from 1, the mean loss in nats, the rate it used, the gradient's norm unclipped.

    The loss is the objective, with its penalties. A limit on the output path is already in the norm.
    """

    step: int
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens: int
    seconds: float


class Training:
    """A model on its way: everything that one more step needs and changes."""

    def __init__(
        self,
        model: LanguageModel,
        batches: Batches,
        config: TrainingConfig,
        machine: Machine,
        *,
        num_steps: int,
        micro_batch_size: int,
        seed: int,
    ) -> None:
        self.model, self.batches, self.config, self.machine = model, batches, config, machine
        self.num_steps, self.micro_batch_size, self.seed = num_steps, micro_batch_size, seed
        self.training_step = build_step(model, machine, config)
        groups = parameter_groups(model, embedding_parameters(model), config)
        self.optimizer = build_optimizer(groups, config, machine)
        self.scaler = machine.scaler()
        self.limits = GradientLimits(groups, config, model, self.optimizer, self.scaler)
        self.output_path = OutputPath(self.training_step, config)
        self.update = Update(self.optimizer, self.limits)
        if self.scaler.is_enabled():
            self.update = ScaledUpdate(self.optimizer, self.limits, self.scaler)
        self.schedule = Schedule(config, num_steps)
        self.feed = Feed(batches, micro_batch_size, machine.device)
        self.progress = Progress()
        self.carried = CarriedState(batches)
        self.gradient_buffers = GradientBuffers()
        self._steps_here = 0

    @property
    def done(self) -> bool:
        """Whether the last step was taken."""
        return self.progress.step >= self.num_steps

    def advance(self) -> StepRecord:
        """Take one step.

        Raises RunError("diverged") with the step's number where loss or gradient is not finite; no weight changes then.
        """
        began, step = time.perf_counter(), self.progress.step
        rate = self.schedule(step)
        set_learning_rate(self.optimizer, rate, self.config)
        for source, target in self.model.tying.set_progress(step / self.num_steps):
            copy_optimizer_state(self.optimizer, source, target)
        if not self.optimizer.state:
            start_optimizer_state(self.optimizer, self.model.tying.idle_now())
        batch = self.feed.take(step)
        outcome = self._update(batch, step)
        # what can be done while the device is busy comes before the read, which waits for it
        batches_hash = chained_hash(self.progress.batches_hash, batch.ids, batch.targets)
        if step + 1 < self.num_steps:
            self.feed.make_ahead(step + 1)
        loss, norm = _finite(outcome, step + 1)
        self.carried.keep()
        self._count(batch.num_targets, batches_hash, loss, time.perf_counter() - began)
        return StepRecord(step + 1, loss, rate, norm, self.progress.tokens_seen, self.progress.seconds)

    def _update(self, batch: Batch, step: int) -> Tensor:
        """Gradients and the change of the weights, on their way on the device; loss and norm, (2,).

        Where fp16 overflows, the same step again at a smaller scale.
        """
        outcome = None
        while outcome is None:
            self.gradient_buffers.release(self.model.parameters())
            outcome = self.update(self._accumulate(batch, step))
        return outcome

    def _accumulate(self, batch: Batch, step: int) -> Tensor:
        """The gradients of the loss, micro-batch by micro-batch; the loss in nats, ()."""
        self.training_step.train()
        self.carried.begin(step)
        loss = torch.zeros((), device=self.machine.device)
        num_shares = len(batch.micro_batches)
        with self.gradient_buffers.active(), self.output_path.apart(self.scaler) as head_gradient:
            for index, (rows, ids, targets) in enumerate(batch.micro_batches):
                torch.manual_seed(stream_seed(self.seed, "dropout", step, 0, index))
                state = self.carried.rows(rows)
                term = LossShare(ids, targets, batch.num_targets, num_shares, state, head_gradient)
                share, _ = self.training_step(term)
                self.scaler.scale(share).backward()
                loss += share.detach()
        return loss

    def _count(self, tokens: int, batches_hash: str, loss: float, seconds: float) -> None:
        progress = self.progress
        progress.step += 1
        progress.tokens_seen += tokens
        progress.seconds += seconds
        progress.batches_hash = batches_hash
        progress.last_loss = loss
        if progress.step == 1:
            progress.first_loss = loss
        self._steps_here += 1
        if self._steps_here > WARM_UP_STEPS:
            progress.steady_tokens += tokens
            progress.steady_seconds += seconds

    def snapshot(self) -> Snapshot:
        """The state to save."""
        if self._steps_here:  # a process that took no step has no peak of training
            self.progress.peaks = self.progress.peaks.joined(read_peaks(self.machine.device))
        circumstances = self.circumstances()
        progress = {**asdict(self.progress), "scaler": self.scaler.state_dict(), "circumstances": circumstances}
        state = self.carried.before(self.progress.step)
        return Snapshot(self.progress.step, self.model.state_dict(), self.optimizer.state_dict(), progress, state=state)

    def circumstances(self) -> dict[str, str | int]:
        """What must stay the same over a run for its numbers to be those of one recipe."""
        return {
            "device": self.machine.device.type,
            "precision": self.machine.precision,
            "compile": str(self.machine.compile).lower(),
            "head": self.config.effective_head,
            "micro_batch_size": self.micro_batch_size,
            "torch": torch.__version__.partition("+")[0],
            "arithmetic": ARITHMETIC,
        }

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from a saved state; raises ConfigError where it was reached under other circumstances."""
        before, now = snapshot.progress["circumstances"], self.circumstances()
        for key in now:
            was = before.get(key, _UNWRITTEN.get(key))
            if was != now[key]:
                message = (
                    f"step {snapshot.step} was reached with {was}, now it is {now[key]}; go on as it began, "
                    f"or --fresh starts that run again"
                )
                places = {"torch": "torch", "arithmetic": "tiedlm's arithmetic"}
                raise ConfigError(Problem(places.get(key, f"training.{key}"), message))
        self.model.load_state_dict(snapshot.weights)
        self.optimizer.load_state_dict(snapshot.optimizer)
        self.carried.restore(None if snapshot.state is None else snapshot.state.to(self.machine.device))
        counters = {key: value for key, value in snapshot.progress.items() if key != "circumstances"}
        self.scaler.load_state_dict(counters.pop("scaler"))
        self.progress = Progress(**{**counters, "peaks": Peaks(**counters["peaks"])})


def _finite(outcome: Tensor, number: int) -> tuple[float, float]:
    """Loss and norm (2,) of a step, read from the device; RunError("diverged") where one of them is not finite."""
    loss, norm = outcome.tolist()
    if not math.isfinite(loss):
        raise RunError("diverged", f"the loss of step {number} is {loss}", number)
    if not math.isfinite(norm):
        raise RunError("diverged", f"the gradient of step {number} has the norm {norm}", number)
    return loss, norm


def chained_hash(before: str, *arrays: np.ndarray) -> str:
    """SHA-256 over the hash so far and the bytes of `arrays`: a running hash that fits into a checkpoint."""
    digest = hashlib.sha256(before.encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return digest.hexdigest()
