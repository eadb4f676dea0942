"""What a training step is forecast to hold in memory: the record. Free of torch."""

from typing import Literal

from tiedlm.config.base import Config

CATEGORIES = ("parameters", "gradients", "optimizer_state", "activations", "temporaries", "inputs")
"""Activations are what the forward pass allocates, temporaries what the backward pass and the update allocate."""

Phase = Literal["forward", "backward", "update"]


class Footprint(Config):
    """Bytes of one step as written, before a compiler fuses parts of it; workspace of kernels is not modelled.

    `categories` are what is held at the peak and add up to it; `vocabulary` is how much of each has a row or a column
    for every type of the vocabulary, null where V equals another size of the model. `persistent_bytes` are the
    parameters, their gradients and the optimizer's state. Without a forecast the figures are null, for a `reason`.
    """

    device: str
    precision: Literal["fp32", "bf16", "fp16"]
    micro_batch_size: int
    peak_bytes: int | None = None
    peak_phase: Phase | None = None
    categories: dict[str, int] = {}  # noqa: RUF012 (a frozen model)
    vocabulary: dict[str, int] | None = None
    persistent_bytes: int | None = None
    reason: str | None = None
