"""Two matrices of which only one is in use for a part of the run."""

from enum import IntEnum
from typing import Any

import torch
from torch import Tensor, nn

from tiedlm.initialization import Draw
from tiedlm.tying.base import ParameterPair
from tiedlm.tying.config import ProgressiveConfig
from tiedlm.tying.soft import distance
from tiedlm.tying.untied import Untied


class Stage(IntEnum):
    """Where in the run the model is; saved with it."""

    START = 0
    PENALIZED = 1
    SWITCHED = 2


class Progressive(Untied):
    """Saves with the model which stage of the run it is in."""

    saved_stage: Tensor

    def __init__(self, config: ProgressiveConfig, vocab_size: int, dim: int) -> None:
        super().__init__(config, vocab_size, dim)
        self.switch_at = config.switch_at
        self.penalty_from = config.switch_at if config.penalty_from is None else config.penalty_from
        self.register_buffer("saved_stage", torch.empty((), dtype=torch.long))
        self.stage = Stage.START  # what the buffer says, without asking the device

    @property
    def stages(self) -> tuple[float, ...]:
        return tuple(sorted({0.0, self.penalty_from, self.switch_at} - {1.0}))

    def set_progress(self, fraction: float) -> list[ParameterPair]:
        before = self.stage
        self._enter(self._stage_at(fraction))
        return self.switch() if self.stage == Stage.SWITCHED != before else []

    def _stage_at(self, fraction: float) -> Stage:
        if fraction >= self.switch_at:
            return Stage.SWITCHED
        return Stage.PENALIZED if fraction >= self.penalty_from else Stage.START

    def switch(self) -> list[ParameterPair]:
        """Give the matrix that is used from now on its values; returns whose optimizer state goes where."""
        raise NotImplementedError

    def initialize(self, draw: Draw) -> None:
        super().initialize(draw)
        self._enter(Stage.START)

    def _enter(self, stage: Stage) -> None:
        self.stage = stage
        self.saved_stage.fill_(stage)

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self.stage = Stage(int(self.saved_stage))


class ProgressiveTie(Progressive):
    """Two matrices, then two with a penalty on their distance, then the mean of both as one."""

    def __init__(self, config: ProgressiveConfig, vocab_size: int, dim: int) -> None:
        super().__init__(config, vocab_size, dim)
        assert config.strength is not None and config.norm is not None  # filled in by the config
        self.strength, self.norm = config.strength, config.norm

    def output_weight(self) -> Tensor:
        used = self.input_embedding if self.stage == Stage.SWITCHED else self.output_embedding
        return used.view_as(used)

    def penalty(self) -> Tensor | None:
        if self.stage != Stage.PENALIZED:
            return None
        return self.strength * distance(self.input_embedding, self.output_embedding, self.norm)

    @torch.no_grad()
    def switch(self) -> list[ParameterPair]:
        """Replace the input embedding by the mean of both, with the optimizer state of the output side.

        The gradients of the output side are the larger ones: their moments fit the sum of both sides better.
        """
        self.input_embedding.add_(self.output_embedding).div_(2)
        return [(self.output_embedding, self.input_embedding)]

    def idle_now(self) -> list[nn.Parameter]:
        return [self.output_embedding] if self.stage == Stage.SWITCHED else []

    def idle_at_inference(self) -> list[nn.Parameter]:
        return [self.output_embedding] if self.switch_at < 1 else []


class ProgressiveUntie(Progressive):
    """One matrix, then two that start from it."""

    def output_weight(self) -> Tensor:
        used = self.output_embedding if self.stage == Stage.SWITCHED else self.input_embedding
        return used.view_as(used)

    @torch.no_grad()
    def switch(self) -> list[ParameterPair]:
        self.output_embedding.copy_(self.input_embedding)
        return [(self.input_embedding, self.output_embedding)]

    def idle_now(self) -> list[nn.Parameter]:
        return [] if self.stage == Stage.SWITCHED else [self.output_embedding]

    def idle_at_inference(self) -> list[nn.Parameter]:
        return [] if self.switch_at < 1 else [self.output_embedding]
