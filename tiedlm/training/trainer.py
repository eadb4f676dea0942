"""The training of one run: its state, and the step that takes it on."""

import hashlib
import math
import time
from dataclasses import asdict

import numpy as np
import torch
from torch import Tensor

from tiedlm.data.batches import Batches
from tiedlm.errors import RunError
from tiedlm.kernels.gradient_buffers import GradientBuffers
from tiedlm.model.language_model import LanguageModel
from tiedlm.streams import stream_seed
from tiedlm.training.accumulate import accumulate_gradients
from tiedlm.training.checkpoint import Snapshot
from tiedlm.training.clipping import OutputPath
from tiedlm.training.config import TrainingConfig
from tiedlm.training.counters import Progress
from tiedlm.training.device_batches import Batch, DeviceBatches
from tiedlm.training.environment import Environment
from tiedlm.training.machine import Machine
from tiedlm.training.memory import Peaks, read_peaks
from tiedlm.training.optimizer import copy_optimizer_state, rate_factors, set_learning_rate, start_optimizer_state
from tiedlm.training.record import StepRecord
from tiedlm.training.recurrent_state import RecurrentState
from tiedlm.training.schedule import Schedule
from tiedlm.training.step import build_step
from tiedlm.training.update import build_update
from tiedlm.training.update_ratios import UpdateMeter

UNTIMED_STEPS = 3
"""The first steps of a process allocate memory and load kernels; they do not count for the speed."""
_RANK = 0
"""The number of this process among those that train the run: there is one."""


class Trainer:
    """A model in training: everything that one more step needs and changes."""

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
        self.environment = Environment.here(
            machine, config, micro_batch_size, embedding_draws=model.tying.input_path.draws
        )
        self.training_step = build_step(model, machine, config)
        self.update = build_update(model, config, machine)
        self.optimizer, self.scaler = self.update.optimizer, self.update.scaler
        self.update_meter = UpdateMeter(model, self.optimizer, num_steps)
        self.output_path = OutputPath(self.training_step, config)
        self.schedule = Schedule(config, num_steps)
        self.rate_factors = rate_factors(config, model.tying.dim)
        self.device_batches = DeviceBatches(batches, micro_batch_size, machine.device)
        self.recurrent_state = RecurrentState(batches)
        self.gradient_buffers = GradientBuffers()
        self.progress = Progress()
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
        learning_rate = self._prepare(step)
        batch = self.device_batches.take(step)
        outcome = self._step(batch)
        # what can be done while the device computes comes before the read, which waits for it
        batches_hash = chained_hash(self.progress.batches_hash, batch.ids, batch.targets)
        if step + 1 < self.num_steps:
            self.device_batches.prefetch(step + 1)
        loss, gradient_norm = _read_finite(outcome, step + 1)
        self.recurrent_state.keep()
        ratios = self.update_meter.measure() if step + 1 in self.update_meter.steps else None
        self._count(batch, batches_hash, loss, time.perf_counter() - began)
        progress = self.progress
        counted = progress.tokens_seen, progress.seconds
        return StepRecord(progress.step, loss, learning_rate, gradient_norm, *counted, ratios)

    def _prepare(self, step: int) -> float:
        """Bring the optimizer and the tying to `step`; the learning rate."""
        learning_rate = self.schedule(step)
        set_learning_rate(self.optimizer, learning_rate, self.rate_factors)
        for source, target in self.model.tying.set_progress(step / self.num_steps):
            copy_optimizer_state(self.optimizer, source, target)
        if not self.optimizer.state:
            start_optimizer_state(self.optimizer, self.model.tying.idle_now())
        return learning_rate

    def _step(self, batch: Batch) -> Tensor:
        """Gradients and weight update; loss and gradient norm, (2,), which the device may still be computing.

        Where fp16 overflows the step is repeated with a smaller loss scale.
        """
        outcome = None
        while outcome is None:
            self.gradient_buffers.release(self.model.parameters())
            outcome = self.update(self._accumulate(batch))
        return outcome

    def _accumulate(self, batch: Batch) -> Tensor:
        """The gradients of the loss over all micro-batches; the loss, ()."""
        loss = torch.zeros((), device=self.machine.device)
        shares = accumulate_gradients(
            self.training_step,
            batch.micro_batches,
            batch.num_targets,
            states=self.recurrent_state.begin(batch.step, [part.rows for part in batch.micro_batches]),
            dropout_seeds=[
                stream_seed(self.seed, "dropout", batch.step, _RANK, index) for index in range(len(batch.micro_batches))
            ],
            output_path=self.output_path,
            scaler=self.scaler,
        )
        with self.gradient_buffers.active():
            for share in shares:
                loss += share
        return loss

    def _count(self, batch: Batch, batches_hash: str, loss: float, seconds: float) -> None:
        self._steps_here += 1
        self.progress.count(
            tokens=batch.num_targets,
            batches_hash=batches_hash,
            loss=loss,
            seconds=seconds,
            counts_for_speed=self._steps_here > UNTIMED_STEPS,
        )

    def snapshot(self) -> Snapshot:
        """The state to save."""
        if self._steps_here:  # a process that took no step has no peak of training
            self.progress.peaks = self.progress.peaks.joined(read_peaks(self.machine.device))
        return Snapshot(
            step=self.progress.step,
            weights=self.model.state_dict(),
            optimizer=self.optimizer.state_dict(),
            progress={
                **asdict(self.progress),
                "scaler": self.scaler.state_dict(),
                "circumstances": self.environment.stored(),
            },
            state=self.recurrent_state.before(self.progress.step),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a saved state; raises ConfigError where it was saved in another environment."""
        counters = dict(snapshot.progress)
        self.environment.check_continues(counters.pop("circumstances"), snapshot.step)
        self.model.load_state_dict(snapshot.weights)
        self.optimizer.load_state_dict(snapshot.optimizer)
        self.recurrent_state.restore(None if snapshot.state is None else snapshot.state.to(self.machine.device))
        self.scaler.load_state_dict(counters.pop("scaler"))
        self.progress = Progress(**{**counters, "peaks": Peaks(**counters["peaks"])})


def _read_finite(outcome: Tensor, step: int) -> tuple[float, float]:
    """Loss and gradient norm (2,), read from the device; RunError("diverged") where one of them is not finite."""
    loss, norm = outcome.tolist()
    if not math.isfinite(loss):
        raise RunError("diverged", f"the loss of step {step} is {loss}", step)
    if not math.isfinite(norm):
        raise RunError("diverged", f"the gradient of step {step} has the norm {norm}", step)
    return loss, norm


def chained_hash(before: str, *arrays: np.ndarray) -> str:
    """SHA-256 over the hash so far and the bytes of `arrays`: a running hash that fits into a checkpoint."""
    digest = hashlib.sha256(before.encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return digest.hexdigest()
