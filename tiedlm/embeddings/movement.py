"""How far rows went from where they started."""

from typing import NamedTuple

import torch
from torch import Tensor

from tiedlm.embeddings.matrix import Matrix, both


class Movement(NamedTuple):
    """Of each row (V,): `distance` |end - start| / |start|, NaN from a start of 0; `cosine` of end and start."""

    distance: Tensor
    cosine: Tensor


def movement(start: Matrix, end: Matrix) -> Movement:
    """0 and 1 where a row is where it was; about sqrt(2) and 0 where it is another one of the same length."""
    distance, cosine = (torch.empty(end.num_rows, dtype=torch.float64) for _ in range(2))
    for (part, before), (_, after) in both(start, end):
        length, other = before.norm(dim=1), after.norm(dim=1)
        distance[part] = torch.where(length > 0, (after - before).norm(dim=1) / length, torch.nan)
        cosine[part] = torch.where(length * other > 0, (before * after).sum(1) / (length * other), torch.nan)
    return Movement(distance, cosine)
