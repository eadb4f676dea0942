"""The change of the weights that ends a step, and when it is left out."""

import torch
from torch import Tensor

from tiedlm.training.clipping import GradientLimits

_MIN_LOSS_SCALE = 1e-3


class Update:
    """Clips the gradients there are and lets the optimizer change the weights, unless loss or norm is not finite.

    What is finite is decided on the device, where the optimizer reads it too: nothing here waits. For optimizers with
    one kernel for the whole update, which can be told so.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, limits: GradientLimits) -> None:
        self.optimizer, self.limits = optimizer, limits

    def __call__(self, loss: Tensor) -> Tensor | None:
        """Loss () -> loss and the norm of all gradients before clipping, (2,).

        No weight changes, and no state that the optimizer had before, where one of the two is not finite.
        """
        outcome = torch.stack((loss, self.limits.clip()))
        # the attribute by which a GradScaler tells a fused optimizer to change nothing where it is 1
        self.optimizer.found_inf = (~outcome.isfinite().all()).float()  # type: ignore[attr-defined]
        self.optimizer.step()
        return outcome


class ScaledUpdate(Update):
    """The same for gradients of a scaled loss in fp16, which may overflow: then the scale must become smaller.

    It waits for the device, which has to say so.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, limits: GradientLimits, scaler: torch.amp.GradScaler) -> None:
        super().__init__(optimizer, limits)
        self.scaler = scaler

    def __call__(self, loss: Tensor) -> Tensor | None:
        """As above; None, and a smaller scale, where the gradients overflow and the step is to be taken again."""
        self.scaler.unscale_(self.optimizer)
        outcome = torch.stack((loss, self.limits.clip()))
        loss_is_finite, norm_is_finite = outcome.isfinite().tolist()
        if loss_is_finite and norm_is_finite:
            self.scaler.step(self.optimizer)
        before = self.scaler.get_scale()
        self.scaler.update()
        again = loss_is_finite and _MIN_LOSS_SCALE <= self.scaler.get_scale() < before
        return None if again else outcome
