"""One run of training, step by step."""

import hashlib
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

import numpy as np
import torch
from torch import Tensor

from tiedlm.config import ConfigError, Problem
from tiedlm.data.batches import Batches
from tiedlm.errors import RunError
from tiedlm.head import IGNORED
from tiedlm.model.language_model import LanguageModel
from tiedlm.model.parameters import embedding_parameters
from tiedlm.streams import stream_seed
from tiedlm.training.carried import CarriedState
from tiedlm.training.checkpoint import Snapshot
from tiedlm.training.config import TrainingConfig
from tiedlm.training.limits import GradientLimits, OutputPath
from tiedlm.training.memory import Peaks, read_peaks
from tiedlm.training.optimizer import build_optimizer, copy_optimizer_state, parameter_groups, set_learning_rate
from tiedlm.training.precision import Machine
from tiedlm.training.schedule import Schedule
from tiedlm.training.step import TrainingStep

WARM_UP_STEPS = 3
"""The first steps after a start allocate, import and tune; they are left out of the speed."""

_MIN_LOSS_SCALE = 1e-3


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
        self.training_step = TrainingStep(model, machine, config.z_loss)
        groups = parameter_groups(model, embedding_parameters(model), config)
        self.optimizer = build_optimizer(groups, config, machine)
        self.scaler = machine.scaler()
        self.limits = GradientLimits(groups, config, model, self.optimizer, self.scaler)
        self.output_path = OutputPath(model.tying, config)
        self.schedule = Schedule(config, num_steps)
        self.progress = Progress()
        self.carried = CarriedState(batches)
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
        ids, targets = self.batches.batch(step)
        loss, norm = self._update(ids, targets, step)
        self.carried.keep()
        self._count(ids, targets, loss, time.perf_counter() - began)
        return StepRecord(step + 1, loss, rate, norm, self.progress.tokens_seen, self.progress.seconds)

    def _update(self, ids: np.ndarray, targets: np.ndarray, step: int) -> tuple[float, float]:
        """Gradients, clipping and the optimizer; where fp16 overflows, the same step again at a smaller scale."""
        while True:
            self.optimizer.zero_grad(set_to_none=True)
            loss = self._accumulate(ids, targets, step)
            if not math.isfinite(loss):
                raise RunError("diverged", f"the loss of step {step + 1} is {loss}", step + 1)
            self.scaler.unscale_(self.optimizer)
            norm = float(self.limits.clip())
            if not (math.isfinite(norm) or self.scaler.is_enabled()):
                raise RunError("diverged", f"the gradient of step {step + 1} has the norm {norm}", step + 1)
            before = self.scaler.get_scale()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            after = self.scaler.get_scale()
            if after >= before:
                return loss, norm
            if after < _MIN_LOSS_SCALE:
                raise RunError("diverged", f"the gradients of step {step + 1} overflow at every scale", step + 1)

    def _accumulate(self, ids: np.ndarray, targets: np.ndarray, step: int) -> float:
        """The gradients of the loss, micro-batch by micro-batch; the loss in nats."""
        self.training_step.train()
        num_targets = int((targets != IGNORED).sum())
        micro_batches = list(self._micro_batches(ids, targets))
        self.carried.begin(step)
        loss = torch.zeros((), device=self.machine.device)
        with self.output_path.apart(self.scaler) as output_weight:
            for index, (rows, some_ids, some_targets) in enumerate(micro_batches):
                torch.manual_seed(stream_seed(self.seed, "dropout", step, 0, index))
                state = self.carried.rows(rows)
                share, _ = self.training_step(
                    some_ids, some_targets, num_targets, len(micro_batches), state, output_weight
                )
                self.scaler.scale(share).backward()
                loss += share.detach()
        return loss.item()

    def _micro_batches(self, ids: np.ndarray, targets: np.ndarray) -> Iterator[tuple[slice, Tensor, Tensor]]:
        device, size = self.machine.device, self.micro_batch_size
        for start in range(0, len(ids), size):
            rows = slice(start, start + size)
            yield rows, torch.from_numpy(ids[rows]).to(device), torch.from_numpy(targets[rows]).to(device)

    def _count(self, ids: np.ndarray, targets: np.ndarray, loss: float, seconds: float) -> None:
        progress, tokens = self.progress, int((targets != IGNORED).sum())
        progress.step += 1
        progress.tokens_seen += tokens
        progress.seconds += seconds
        progress.batches_hash = chained_hash(progress.batches_hash, ids, targets)
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
            "micro_batch_size": self.micro_batch_size,
            "torch": torch.__version__.partition("+")[0],
        }

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from a saved state; raises ConfigError where it was reached under other circumstances."""
        before, now = snapshot.progress["circumstances"], self.circumstances()
        for key in now:
            if before[key] != now[key]:
                message = (
                    f"step {snapshot.step} was reached with {before[key]}, now it is {now[key]}; go on as it began, "
                    f"or --fresh starts that run again"
                )
                raise ConfigError(Problem("torch" if key == "torch" else f"training.{key}", message))
        self.model.load_state_dict(snapshot.weights)
        self.optimizer.load_state_dict(snapshot.optimizer)
        self.carried.restore(None if snapshot.state is None else snapshot.state.to(self.machine.device))
        counters = {key: value for key, value in snapshot.progress.items() if key != "circumstances"}
        self.scaler.load_state_dict(counters.pop("scaler"))
        self.progress = Progress(**{**counters, "peaks": Peaks(**counters["peaks"])})


def chained_hash(before: str, *arrays: np.ndarray) -> str:
    """SHA-256 over the hash so far and the bytes of `arrays`: a running hash that fits into a checkpoint."""
    digest = hashlib.sha256(before.encode())
    for array in arrays:
        digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
    return digest.hexdigest()
