"""A linear layer with selective activation recomputation.

For the backward pass of a product torch saves both factors: the input, and under autocast a 16-bit copy of the weight.
Here an input that is the output of a norm or an activation, and the 16-bit copy, are recomputed in the backward pass
instead of saved: both are cheap, and what they are computed from is in memory anyway. `linear` must equal
`F.linear` under autocast, which is the plain function, and `recomputable(function, source)` must equal
`function(source)`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from tiedlm.kernels.gradient_buffers import storage_key

Kept = Tensor | Callable[[], Tensor]
MANY_ROWS = 1024
"""With fewer, to round the matrix again takes more than a twentieth of the time of its products."""
_MARK = "_recomputation"


@dataclass(frozen=True)
class _Recomputation:
    """How to recompute a tensor from `source`, without gradient; `version` tells of later changes in place."""

    function: Callable[[Tensor], Tensor]
    source: Tensor
    version: int


def recomputable(function: Callable[[Tensor], Tensor], source: Tensor) -> Tensor:
    """`function(source)`, which a `linear` that reads it recomputes in the backward pass instead of saving it.

    `function` must give the same result then, and `source` must not be changed in place until then.
    """
    result = function(source)
    if torch.is_grad_enabled() and not torch.compiler.is_compiling():
        setattr(result, _MARK, _Recomputation(function, source.detach(), result._version))
    return result


def linear(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """hidden (..., I), weight (O, I), bias (O,) or None -> (..., O)."""
    if torch.compiler.is_compiling() or not torch.is_grad_enabled():  # a compiler decides by itself what to keep
        return F.linear(hidden, weight, bias)
    device = hidden.device.type
    is_mixed, low = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    mode = torch.autocast(device, enabled=is_mixed, dtype=low)
    dtype = low if is_mixed else hidden.dtype
    # cast here: autocast would hold its copy of the matrix until the end of the forward pass
    factor, matrix, detached = hidden.to(dtype), weight.to(dtype), weight.detach()
    recompute: dict[
        int, Callable[[], Tensor]
    ] = {}  # by storage key: a tensor here would be kept alive until the backward pass
    recomputation: _Recomputation | None = getattr(hidden, _MARK, None)
    if recomputation is not None and recomputation.version == hidden._version:
        function, source = recomputation.function, recomputation.source
        recompute[storage_key(factor)] = lambda: function(source).to(dtype)
    if matrix is not weight and factor.numel() // factor.shape[-1] >= MANY_ROWS:
        recompute[storage_key(matrix)] = lambda: detached.to(dtype)

    def keep(tensor: Tensor) -> Kept:
        form = recompute.get(storage_key(tensor))
        return tensor if form is None else _like(tensor, form, mode)

    with saved_tensors_hooks(keep, _form):
        return F.linear(factor, matrix, bias)


def _like(tensor: Tensor, form: Callable[[], Tensor], mode: torch.autocast) -> Callable[[], Tensor]:
    """What forms `tensor` again, a view of what `form` gives each time with the same layout."""
    size, stride, offset = tensor.size(), tensor.stride(), tensor.storage_offset()

    def formed() -> Tensor:
        with mode:
            return form().as_strided(size, stride, offset)

    return formed


def _form(kept: Kept) -> Tensor:
    return kept if isinstance(kept, Tensor) else kept()
