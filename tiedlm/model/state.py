"""What a recurrent body carries from one window of a text to the next."""

from dataclasses import dataclass

from torch import Tensor


@dataclass
class State:
    """Given to a forward pass, it is what the body starts from, and afterwards what it ended with, without gradient.

    `value` (B, S) has a row for each text of the batch; None is the beginning of a text.
    """

    value: Tensor | None = None
