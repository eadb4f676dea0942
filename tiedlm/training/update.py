"""The weight update that ends a step: clip, check that everything is finite, let the optimizer step."""

import torch
from torch import Tensor

from tiedlm.model.language_model import LanguageModel
from tiedlm.training.clipping import GradientLimits
from tiedlm.training.config import TrainingConfig
from tiedlm.training.machine import Machine
from tiedlm.training.optimizer import build_optimizer, parameter_groups

_MIN_LOSS_SCALE = 1e-3


class WeightUpdate:
    """Clips the gradients and lets the optimizer change the weights, unless loss or norm is not finite.

    Whether they are finite is decided on the device, where a fused optimizer reads it too: the host waits for nothing.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, limits: GradientLimits, scaler: torch.amp.GradScaler) -> None:
        self.optimizer, self.limits, self.scaler = optimizer, limits, scaler

    def __call__(self, loss: Tensor) -> Tensor | None:
        """Loss () -> loss and the norm of all gradients before clipping, (2,).

        No weight and no state of the optimizer changes where one of the two is not finite. None: gradients overflowed,
        and the step is to be repeated.
        """
        outcome = torch.stack((loss, self.limits.clip()))
        # the attribute by which a GradScaler tells a fused optimizer to change nothing where it is 1
        self.optimizer.found_inf = (~outcome.isfinite().all()).float()  # type: ignore[attr-defined]
        self.optimizer.step()
        return outcome


class ScaledWeightUpdate(WeightUpdate):
    """The same for gradients of a scaled loss in fp16, which may overflow: then the scale must become smaller.

    The host waits for the device, which has to say whether they did.
    """

    def __call__(self, loss: Tensor) -> Tensor | None:
        self.scaler.unscale_(self.optimizer)
        outcome = torch.stack((loss, self.limits.clip()))
        loss_is_finite, norm_is_finite = outcome.isfinite().tolist()
        if loss_is_finite and norm_is_finite:
            self.scaler.step(self.optimizer)
        before = self.scaler.get_scale()
        self.scaler.update()
        again = loss_is_finite and _MIN_LOSS_SCALE <= self.scaler.get_scale() < before
        return None if again else outcome


def build_update(model: LanguageModel, config: TrainingConfig, machine: Machine) -> WeightUpdate:
    """The update that a recipe describes, with a new optimizer for all parameters of `model`."""
    groups = parameter_groups(model, config)
    optimizer, scaler = build_optimizer(groups, config, machine), machine.scaler()
    limits = GradientLimits(groups, config, model, optimizer, scaler)
    kind = ScaledWeightUpdate if scaler.is_enabled() else WeightUpdate
    return kind(optimizer, limits, scaler)
