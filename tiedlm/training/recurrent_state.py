"""The state that a recurrent body hands from one step to the next, a row for each text stream of the batch."""

from collections.abc import Sequence

import torch
from torch import Tensor

from tiedlm.data.batches import Batches
from tiedlm.model.state import State


class RecurrentState:
    """The state that the next step starts from, and apart from it that of the step under way.

    The second replaces the first only when the step is kept: after an overflow in fp16 the step is repeated, from the
    same state. Where windows are shuffled there is no state.
    """

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._value: Tensor | None = None
        self._under_way: list[State] = []

    def begin(self, step: int, parts: Sequence[slice]) -> list[State | None]:
        """What each part of the batch starts from in `step`, to be replaced by what it ends with.

        None where windows are shuffled. At the beginning of the text a state is empty.
        """
        self._under_way = []
        if not self._batches.goes_on(step):
            self._value = None
        if not self._batches.contiguous:
            return [None] * len(parts)
        self._under_way = [State(None if self._value is None else self._value[rows]) for rows in parts]
        return [*self._under_way]

    def keep(self) -> None:
        """The step counts: the next one starts from what it ended with."""
        values = [state.value for state in self._under_way if state.value is not None]
        self._value = torch.cat(values) if values else None

    def before(self, step: int) -> Tensor | None:
        """What `step`, the next one, starts from, as a checkpoint saves it; None where it starts from nothing."""
        return self._value if self._batches.goes_on(step) else None

    def restore(self, value: Tensor | None) -> None:
        """Let the next step start from what `before` gave."""
        self._value = value
