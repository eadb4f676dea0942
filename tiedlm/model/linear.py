"""A linear map that keeps for the way back what it cannot form again, and no more.

Of a product torch keeps both factors as they went into it: the input, and in 16 bits a copy of the matrix. Where that
input is a norm or an activation of something that is kept anyway, it is cheap to form twice.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from tiedlm.initialization import Draw, normal_
from tiedlm.kernels.gradient_buffers import storage_key

Prepare = Callable[[Tensor], Tensor]
Kept = Tensor | Callable[[], Tensor]
_MANY_ROWS = 1024
"""With fewer, to round the matrix again takes more than a twentieth of the time of its products."""


class Linear(nn.Module):
    """x W^T + b; the weight starts as N(0, init_std^2), the bias at zero."""

    def __init__(self, num_inputs: int, num_outputs: int, *, bias: bool, init_std: float) -> None:
        super().__init__()
        self.init_std = init_std
        self.weight = nn.Parameter(torch.empty(num_outputs, num_inputs))
        self.bias = nn.Parameter(torch.empty(num_outputs)) if bias else None

    def forward(self, hidden: Tensor, prepare: Prepare | None = None) -> Tensor:
        """hidden (..., I) -> (..., O), of `prepare(hidden)` where that is given: a norm, an activation.

        Both `hidden` and `prepare` must give the same again on the way back.
        """
        ready = hidden if prepare is None else prepare(hidden)
        if torch.compiler.is_compiling() or not torch.is_grad_enabled():  # a compiler decides by itself what to keep
            return F.linear(ready, self.weight, self.bias)
        device = hidden.device.type
        is_mixed, low = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
        mode = torch.autocast(device, enabled=is_mixed, dtype=low)
        dtype = low if is_mixed else ready.dtype
        # cast here, for autocast would hold its copy of the matrix until the way forward is at its end
        factor, matrix, source, weight = ready.to(dtype), self.weight.to(dtype), hidden.detach(), self.weight.detach()
        again: dict[int, Callable[[], Tensor]] = {}  # by storage: the hooks live on, and must hold no tensor for it
        if prepare is not None:
            again[storage_key(factor)] = lambda: prepare(source).to(dtype)
        if matrix is not self.weight and factor.numel() // factor.shape[-1] >= _MANY_ROWS:
            again[storage_key(matrix)] = lambda: weight.to(dtype)

        def keep(tensor: Tensor) -> Kept:
            form = again.get(storage_key(tensor))
            return tensor if form is None else _like(tensor, form, mode)

        with saved_tensors_hooks(keep, _form):
            return F.linear(factor, matrix, self.bias)

    def initialize(self, draw: Draw) -> None:
        normal_(self.weight, self.init_std, draw("weight"))
        if self.bias is not None:
            nn.init.zeros_(self.bias)


def _like(tensor: Tensor, form: Callable[[], Tensor], mode: torch.autocast) -> Callable[[], Tensor]:
    """What forms `tensor` again, a view of what `form` gives each time with the same layout."""
    size, stride, offset = tensor.size(), tensor.stride(), tensor.storage_offset()

    def formed() -> Tensor:
        with mode:
            return form().as_strided(size, stride, offset)

    return formed


def _form(kept: Kept) -> Tensor:
    return kept if isinstance(kept, Tensor) else kept()
