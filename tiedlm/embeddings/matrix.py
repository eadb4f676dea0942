"""A matrix with a row for each token, read some rows at a time: sums in float64, whatever its size.

V tokens, D width. Beside the rows themselves nothing larger than (D, D) or one block is held.
"""

from collections.abc import Iterator
from functools import cached_property

import torch
from torch import Tensor

_BLOCK_BYTES = 2**25
"""Of a block of rows in float64."""
_SEED = 0


class Matrix:
    """Rows (V, D) of any floating dtype, those at `index` (V',) in that order, or all of them."""

    def __init__(self, rows: Tensor, index: Tensor | None = None) -> None:
        assert rows.ndim == 2 and rows.is_floating_point()
        self.rows, self.index = rows.detach(), index
        self.num_rows, self.dim = len(rows) if index is None else len(index), rows.shape[1]

    def at(self, part: slice | Tensor) -> Tensor:
        """Some rows in float64, by their places among those of this matrix."""
        places = part if self.index is None else self.index[part]
        return self.rows[places].to(torch.float64)

    def blocks(self) -> Iterator[tuple[slice, Tensor]]:
        """Consecutive places, and their rows (n, D) in float64."""
        size = max(1, _BLOCK_BYTES // (8 * self.dim))
        for first in range(0, self.num_rows, size):
            part = slice(first, min(first + size, self.num_rows))
            yield part, self.at(part)

    def only(self, index: Tensor) -> "Matrix":
        """The rows at some places of this one; nothing is copied."""
        return Matrix(self.rows, index if self.index is None else self.index[index])

    @cached_property
    def norms(self) -> Tensor:
        """The length of each row (V,)."""
        norms = torch.empty(self.num_rows, dtype=torch.float64)
        for part, rows in self.blocks():
            norms[part] = rows.norm(dim=1)
        return norms

    @cached_property
    def mean(self) -> Tensor:
        """The mean row (D,)."""
        total = torch.zeros(self.dim, dtype=torch.float64)
        for _, rows in self.blocks():
            total += rows.sum(0)
        return total / self.num_rows

    @cached_property
    def covariance(self) -> Tensor:
        """A'A of the centred rows A (D, D): V times their covariance."""
        total = torch.zeros(self.dim, self.dim, dtype=torch.float64)
        for _, rows in self.blocks():
            centred = rows - self.mean
            total.addmm_(centred.T, centred)
        return total

    @cached_property
    def gram(self) -> Tensor:
        """A'A of the rows as they are (D, D)."""
        return self.covariance + self.num_rows * torch.outer(self.mean, self.mean)

    @property
    def is_constant(self) -> bool:
        """Whether all rows are equal: nothing is left of them once they are centred."""
        return spread_of(self.covariance) <= 1e-24 * self.num_rows * float(self.mean @ self.mean)


class MatrixPair:
    """Two matrices with the same tokens in the same order, of widths D and E."""

    def __init__(self, one: Matrix, other: Matrix) -> None:
        assert one.num_rows == other.num_rows
        self.one, self.other = one, other

    @property
    def num_rows(self) -> int:
        """The number of tokens."""
        return self.one.num_rows

    def blocks(self) -> Iterator[tuple[slice, Tensor, Tensor]]:
        """Consecutive places, and the rows of both: as many at once as a block of the wider one has."""
        is_first_wider = self.one.dim >= self.other.dim
        wider, narrower = (self.one, self.other) if is_first_wider else (self.other, self.one)
        for part, rows in wider.blocks():
            beside = rows if narrower is wider else narrower.at(part)
            yield (part, rows, beside) if is_first_wider else (part, beside, rows)

    def only(self, index: Tensor) -> "MatrixPair":
        """The same with the rows at some places."""
        return MatrixPair(self.one.only(index), self.other.only(index))

    @cached_property
    def product(self) -> Tensor:
        """A'B of the centred rows (D, E)."""
        total = torch.zeros(self.one.dim, self.other.dim, dtype=torch.float64)
        for _, left, right in self.blocks():
            total.addmm_((left - self.one.mean).T, right - self.other.mean)
        return total

    @cached_property
    def halves(self) -> "tuple[Tensor, MatrixPair, MatrixPair]":
        """The places of the tokens that are held out from a fit, those that it is made from, and those held out."""
        fitted, held_out = halves(self.num_rows)
        return held_out, self.only(fitted), self.only(held_out)


def halves(num_rows: int) -> tuple[Tensor, Tensor]:
    """The places of the tokens that a map is fitted on, and of the others; always the same for so many rows."""
    order = torch.randperm(num_rows, generator=torch.Generator().manual_seed(_SEED))
    return order[: num_rows // 2].sort().values, order[num_rows // 2 :].sort().values


def spread_of(covariance: Tensor) -> float:
    """The trace of a Gram matrix: the sum of all squared entries."""
    return float(covariance.trace())


def usable_rows(*matrices: Matrix) -> Tensor:
    """Which tokens (V,) have a row in every matrix that is finite and not 0: the others have no direction."""
    usable = torch.ones(matrices[0].num_rows, dtype=torch.bool)
    for matrix in matrices:
        usable &= matrix.norms.isfinite() & (matrix.norms > 0)
    return usable
