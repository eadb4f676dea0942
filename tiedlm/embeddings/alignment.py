"""Is one matrix the other one, turned, or linearly mapped? Fit on half of the tokens, judged on the other half.

An in-sample fit finds a map between any two matrices, of independent ones too; the cosine that it reaches there is
`floor`: (8 / 3 pi) sqrt(D / V) for the best orthogonal and sqrt(D / V) for the best linear map, with V rows that have
independent normal entries of width D.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from tiedlm.embeddings.matrix import MatrixPair

Solver = Callable[[MatrixPair], Tensor | None]
"""From two matrices to the map (D, E) of the centred rows; None: they stay as they are."""

ORTHOGONAL_FACTOR = 8 / (3 * math.pi)
_NEGLIGIBLE = 1e-12
"""Directions with less than this share of the largest eigenvalue are not fitted."""


class Fit(NamedTuple):
    """Cosines of mapped rows with their counterparts: `cosines` of the tokens at `places` that were held out.

    `in_sample` is the mean over all tokens of a map fitted on all of them, `floor` its value for independent matrices.
    """

    cosines: Tensor
    places: Tensor
    in_sample: float
    floor: float

    @property
    def held_out(self) -> float:
        """The mean over the tokens that were held out: 0 for independent matrices."""
        return float(self.cosines.mean())

    @property
    def range(self) -> tuple[float, float]:
        """From the 5th to the 95th of a hundred tokens that were held out."""
        low, high = self.cosines.quantile(torch.tensor([0.05, 0.95], dtype=torch.float64)).tolist()
        return low, high


def identity(pair: MatrixPair) -> Fit:
    """As they are, of equal width: nothing is fitted but the mean rows."""
    assert pair.one.dim == pair.other.dim
    return _fit(pair, lambda fitted: None, 0.0)


def orthogonal(pair: MatrixPair) -> Fit:
    """The best turn, of equal width: U V' of the singular vectors of A'B (Schoenemann 1966)."""
    assert pair.one.dim == pair.other.dim

    def turn(fitted: MatrixPair) -> Tensor:
        u, _, v = torch.linalg.svd(fitted.product)
        turned: Tensor = u @ v
        return turned

    return _fit(pair, turn, ORTHOGONAL_FACTOR * math.sqrt(pair.one.dim / pair.num_rows))


def linear(pair: MatrixPair) -> Fit:
    """The best linear map from the first to the second, by least squares; widths may differ."""

    def solution(fitted: MatrixPair) -> Tensor:
        return _inverse(fitted.one.covariance) @ fitted.product

    return _fit(pair, solution, math.sqrt(pair.one.dim / pair.num_rows))


def _fit(pair: MatrixPair, solve: Solver, floor: float) -> Fit:
    places, fitted, held_out = pair.halves
    cosines = _cosines(held_out, fitted, solve(fitted))
    in_sample = _cosines(pair, pair, solve(pair))
    return Fit(cosines, places, float(in_sample.mean()), min(floor, 1.0))


def _inverse(gram: Tensor) -> Tensor:
    """The pseudo-inverse of a symmetric matrix."""
    values, vectors = torch.linalg.eigh(gram)
    kept = values > _NEGLIGIBLE * values[-1]
    vectors = vectors[:, kept]
    inverse: Tensor = (vectors / values[kept]) @ vectors.T
    return inverse


def _cosines(pair: MatrixPair, fitted: MatrixPair, mapping: Tensor | None) -> Tensor:
    """The cosine (V,) of each row of the first, centred and mapped, with that of the second; 0 where one is 0.

    The mean rows are those of the tokens that the map was fitted on.
    """
    cosines = torch.empty(pair.num_rows, dtype=torch.float64)
    for part, left, right in pair.blocks():
        mapped, target = left - fitted.one.mean, right - fitted.other.mean
        if mapping is not None:
            mapped = mapped @ mapping
        lengths = mapped.norm(dim=1) * target.norm(dim=1)
        products = (mapped * target).sum(1)
        cosines[part] = torch.where(lengths > 0, products / lengths, 0.0)
    return cosines
