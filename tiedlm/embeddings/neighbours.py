"""Have tokens the same neighbours in two matrices, and are some tokens the neighbours of all?"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from tiedlm.embeddings.matrix import Matrix

K = 10
NUM_QUERIES = 10_000
_TILE_BYTES = 2**27
"""Of each of: queries, rows and cosines that are in memory at once, fp32."""
_SEED = 1


class Hubness(NamedTuple):
    """The skewness of how often a token is among the nearest of the queries; `chance`: were they drawn at random."""

    skewness: float
    chance: float


def queries(num_rows: int, num_queries: int | None = NUM_QUERIES) -> Tensor:
    """The places of the tokens whose neighbours are looked for, in order; None: all. The same for so many rows."""
    if num_queries is None or num_queries >= num_rows:
        return torch.arange(num_rows)
    order = torch.randperm(num_rows, generator=torch.Generator().manual_seed(_SEED))
    return order[:num_queries].sort().values


def nearest(matrix: Matrix, places: Tensor, k: int = K) -> tuple[Tensor, Tensor]:
    """Cosines and places of the `k` rows nearest to each of some rows, themselves left out: both (n, k)."""
    assert 0 < k < matrix.num_rows
    size = max(1, _TILE_BYTES // (4 * matrix.dim))
    found = [_nearest(matrix, part, k, size) for part in places.split(size)]
    cosines, rows = (torch.cat(parts) for parts in zip(*found, strict=True))
    return cosines, rows


def _nearest(matrix: Matrix, places: Tensor, k: int, size: int) -> tuple[Tensor, Tensor]:
    wanted = _unit(matrix, places)
    cosines = torch.full((len(places), 0), -math.inf)
    rows = torch.empty(len(places), 0, dtype=torch.long)
    step = max(1, min(size, _TILE_BYTES // (4 * len(places))))
    for first in range(0, matrix.num_rows, step):
        here = torch.arange(first, min(first + step, matrix.num_rows))
        tile = wanted @ _unit(matrix, here).T
        is_query = (places >= first) & (places < first + len(here))
        tile[is_query, places[is_query] - first] = -math.inf
        best, index = tile.topk(min(k, len(here)), dim=1)
        cosines, rows = torch.cat([cosines, best], 1), torch.cat([rows, here[index]], 1)
        cosines, order = cosines.topk(min(k, cosines.shape[1]), dim=1)
        rows = rows.gather(1, order)
    return cosines, rows


def _unit(matrix: Matrix, places: Tensor) -> Tensor:
    return (matrix.at(places) / matrix.norms[places].unsqueeze(1)).float()


def overlaps(one: Tensor, other: Tensor) -> Tensor:
    """The share (n,) of the neighbours (n, k) of each query in one matrix that are its neighbours in another."""
    return (one.unsqueeze(2) == other.unsqueeze(1)).any(2).double().mean(1)


def overlap_chance(num_rows: int, k: int = K) -> float:
    """The share in common of neighbours that have nothing to do with each other."""
    return k / (num_rows - 1)


def hubness(neighbours: Tensor, num_rows: int) -> Hubness | None:
    """Of the neighbours (n, k) of n queries among V rows (Radovanovic et al. 2010); None where all occur equally often.

    By chance it is that of a binomial count, n times k of V - 1.
    """
    times = torch.bincount(neighbours.flatten(), minlength=num_rows).double()
    deviation = times - times.mean()
    variance = deviation.square().mean()
    if variance == 0:
        return None
    share = neighbours.shape[1] / (num_rows - 1)
    spread = len(neighbours) * share * (1 - share)
    chance = (1 - 2 * share) / math.sqrt(spread) if spread else 0.0
    return Hubness(float(deviation.pow(3).mean() / variance.pow(1.5)), chance)
