"""The state that a recurrent body carries from step to step, a row for each stream of the batch."""

import torch
from torch import Tensor

from tiedlm.data.batches import Batches
from tiedlm.model.state import State


class CarriedState:
    """What the next step goes on from, and what the step under way has left so far.

    The two are kept apart until the step counts: where fp16 overflows it is taken again, from the same state. Where
    windows are shuffled nothing is carried.
    """

    def __init__(self, batches: Batches) -> None:
        self._batches = batches
        self._value: Tensor | None = None
        self._left: list[State] = []

    def begin(self, step: int) -> None:
        """A step begins, perhaps again; at the beginning of the text it goes on from nothing."""
        self._left = []
        if not self._batches.goes_on(step):
            self._value = None

    def rows(self, rows: slice) -> State | None:
        """What the next micro-batch, these rows of the batch, goes on from, and leaves what it ends with in."""
        if not self._batches.contiguous:
            return None
        self._left.append(State(None if self._value is None else self._value[rows]))
        return self._left[-1]

    def keep(self) -> None:
        """The step counts: the next one goes on from what it left."""
        values = [state.value for state in self._left if state.value is not None]
        self._value = torch.cat(values) if values else None

    def before(self, step: int) -> Tensor | None:
        """What `step`, the next one, needs of the steps before it."""
        return self._value if self._batches.goes_on(step) else None

    def restore(self, value: Tensor | None) -> None:
        """What `before` gave; the next step goes on from it."""
        self._value = value
