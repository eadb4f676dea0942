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

from tiedlm.embeddings.matrix import Matrix, both, cross

Solver = Callable[[Matrix, Matrix], Tensor]
"""From two matrices with the same tokens to the map (D, E) of the centred rows."""

ORTHOGONAL_FACTOR = 8 / (3 * math.pi)
_SEED = 0
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


def halves(num_rows: int) -> tuple[Tensor, Tensor]:
    """The places of the tokens that a map is fitted on, and of the others; always the same for so many rows."""
    order = torch.randperm(num_rows, generator=torch.Generator().manual_seed(_SEED))
    return order[: num_rows // 2].sort().values, order[num_rows // 2 :].sort().values


def identity(one: Matrix, other: Matrix) -> Fit:
    """As they are, of equal width: nothing is fitted but the mean rows."""
    assert one.dim == other.dim
    fitted, held_out = halves(one.num_rows)
    means = one.only(fitted).mean, other.only(fitted).mean
    cosines = _cosines(one.only(held_out), other.only(held_out), means, None)
    in_sample = _cosines(one, other, (one.mean, other.mean), None)
    return Fit(cosines, held_out, float(in_sample.mean()), 0.0)


def orthogonal(one: Matrix, other: Matrix) -> Fit:
    """The best turn, of equal width: U V' of the singular vectors of A'B (Schoenemann 1966)."""
    assert one.dim == other.dim

    def turn(left: Matrix, right: Matrix) -> Tensor:
        u, _, v = torch.linalg.svd(cross(left, right))
        turned: Tensor = u @ v
        return turned

    return _fit(one, other, turn, ORTHOGONAL_FACTOR * math.sqrt(one.dim / one.num_rows))


def linear(one: Matrix, other: Matrix) -> Fit:
    """The best linear map from the first to the second, by least squares; widths may differ."""

    def solution(left: Matrix, right: Matrix) -> Tensor:
        return _inverse(left.covariance) @ cross(left, right)

    return _fit(one, other, solution, math.sqrt(one.dim / one.num_rows))


def _fit(one: Matrix, other: Matrix, solve: Solver, floor: float) -> Fit:
    fitted, held_out = halves(one.num_rows)
    left, right = one.only(fitted), other.only(fitted)
    cosines = _cosines(one.only(held_out), other.only(held_out), (left.mean, right.mean), solve(left, right))
    in_sample = _cosines(one, other, (one.mean, other.mean), solve(one, other))
    return Fit(cosines, held_out, float(in_sample.mean()), min(floor, 1.0))


def _inverse(gram: Tensor) -> Tensor:
    """The pseudo-inverse of a symmetric matrix."""
    values, vectors = torch.linalg.eigh(gram)
    kept = values > _NEGLIGIBLE * values[-1]
    vectors = vectors[:, kept]
    inverse: Tensor = (vectors / values[kept]) @ vectors.T
    return inverse


def _cosines(one: Matrix, other: Matrix, means: tuple[Tensor, Tensor], fitted: Tensor | None) -> Tensor:
    """The cosine (V,) of each row of the first, centred and mapped, with that of the second; 0 where one is 0."""
    cosines = torch.empty(one.num_rows, dtype=torch.float64)
    for (part, left), (_, right) in both(one, other):
        mapped, target = left - means[0], right - means[1]
        if fitted is not None:
            mapped = mapped @ fitted
        lengths = mapped.norm(dim=1) * target.norm(dim=1)
        products = (mapped * target).sum(1)
        cosines[part] = torch.where(lengths > 0, products / lengths, 0.0)
    return cosines
