"""Starting values, each parameter from a stream of its own, so that what a variant adds moves nothing else."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from tiedlm.streams import stream_seed

Draw = Callable[[str], torch.Generator]
"""From the name of a module's own parameter to the generator that fills it."""


def initialize(model: nn.Module, seed: int, redrawn: str = "", draw: int = 0) -> None:
    """Give every parameter its starting value: each module that owns some has `initialize(draw)`.

    A parameter's values depend on `seed`, on its full name and on its shape alone; under the child `redrawn` also on
    the number of the `draw`, of which 0 is the common one.
    """
    for prefix, module in model.named_modules():
        if next(module.parameters(recurse=False), None) is not None:
            number = draw if redrawn and f"{prefix}.".startswith(f"{redrawn}.") else 0
            module.initialize(_draw(seed, f"{prefix}." if prefix else "", number))


def _draw(seed: int, prefix: str, number: int) -> Draw:
    again = ("draw", number) if number else ()
    return lambda name: torch.Generator().manual_seed(stream_seed(seed, "parameter", prefix + name, *again))


@torch.no_grad()
def normal_(parameter: Tensor, std: float, generator: torch.Generator) -> None:
    """Fill with N(0, std^2), drawn in fp32 on the CPU so that every device starts alike."""
    parameter.copy_(torch.empty(parameter.shape, device="cpu").normal_(0.0, std, generator=generator))
