"""How far rows went from where they started."""

from typing import NamedTuple

import torch
from torch import Tensor

from tiedlm.embeddings.matrix import MatrixPair


class Movement(NamedTuple):
    """Of each row (V,): `distance` |end - start| / |start|, NaN from a start of 0; `cosine` of end and start."""

    distance: Tensor
    cosine: Tensor


def movement(pair: MatrixPair) -> Movement:
    """From the first matrix, the start, to the second: 0 and 1 where a row is where it was.

    About sqrt(2) and 0 where it is another row of the same length.
    """
    distance, cosine = (torch.empty(pair.num_rows, dtype=torch.float64) for _ in range(2))
    for part, before, after in pair.blocks():
        length, other = before.norm(dim=1), after.norm(dim=1)
        distance[part] = torch.where(length > 0, (after - before).norm(dim=1) / length, torch.nan)
        cosine[part] = torch.where(length * other > 0, (before * after).sum(1) / (length * other), torch.nan)
    return Movement(distance, cosine)
