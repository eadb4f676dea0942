"""Do the rows of a matrix point everywhere alike? Each figure beside its value for independent normal entries."""

import math
from typing import NamedTuple

import torch

from tiedlm.embeddings.matrix import Matrix

_NEGLIGIBLE = 1e-13
"""Eigenvalues with less than this share of the largest are rounding errors of 0."""
_NODES = 4096


class Isotropy(NamedTuple):
    """`isoscore` (PR - 1) / (D - 1), PR = (tr C)^2 / ||C||^2 of the covariance C; None for a width of 1.

    `mean_cosine` is that of all pairs of rows, `partition` min Z / max Z over the eigenvectors c of W'W of both signs,
    Z = sum exp(c w) over rows w.
    """

    isoscore: float | None
    mean_cosine: float
    partition: float


def isotropy(matrix: Matrix) -> Isotropy:
    """IsoScore (Rudman et al. 2022), mean cosine (Ethayarajh 2019), partition isotropy (Mu & Viswanath 2018).

    Rows must not be 0, nor all equal.
    """
    return Isotropy(isoscore(matrix), mean_cosine(matrix), partition(matrix))


def isoscore(matrix: Matrix) -> float | None:
    """1 where all directions have one variance, 0 where all variance is in one direction."""
    if matrix.dim == 1:
        return None
    covariance = matrix.covariance / matrix.covariance.diagonal().max()
    participation = float(covariance.trace().square() / covariance.square().sum())
    return (participation - 1) / (matrix.dim - 1)


def mean_cosine(matrix: Matrix) -> float:
    """(||sum of unit rows||^2 - V) / (V (V - 1))."""
    total = torch.zeros(matrix.dim, dtype=torch.float64)
    for part, rows in matrix.blocks():
        total += (rows / matrix.norms[part].unsqueeze(1)).sum(0)
    num_rows = matrix.num_rows
    return (float(total @ total) - num_rows) / (num_rows * (num_rows - 1))


def partition(matrix: Matrix) -> float:
    """Of the rows at their own scale: small rows give nearly 1 wherever they point."""
    _, vectors = torch.linalg.eigh(matrix.gram)
    log_z = torch.full((2, matrix.dim), -math.inf, dtype=torch.float64)
    for _, rows in matrix.blocks():
        along = rows @ vectors
        log_z = log_z.logaddexp(torch.stack([along.logsumexp(0), (-along).logsumexp(0)]))
    return math.exp(float(log_z.min() - log_z.max()))


def effective_rank(matrix: Matrix) -> float:
    """exp(-sum p ln p) with p the singular values over their sum (Roy & Vetterli 2007): from 1 to D."""
    values = torch.linalg.eigvalsh(matrix.gram)
    singular = values[values > _NEGLIGIBLE * values[-1]].sqrt()
    shares = singular / singular.sum()
    return math.exp(-float((shares * shares.log()).sum()))


def normal_isoscore(num_rows: int, dim: int) -> float | None:
    """IsoScore of independent normal entries, by the means of (tr C)^2 and ||C||^2 of a Wishart matrix.

    With n = V - 1 degrees of freedom PR is (n D + 2) / (n + D + 1), about D / (1 + D / V).
    """
    degrees = num_rows - 1
    return None if dim == 1 else ((degrees * dim + 2) / (degrees + dim + 1) - 1) / (dim - 1)


def normal_effective_rank(num_rows: int, dim: int) -> float:
    """Effective rank of independent normal entries, by the limit law of their singular values (Marchenko & Pastur).

    With g = D / V <= 1 the squares x / V = 1 + g + 2 sqrt(g) cos t have the density 2 sin(t)^2 / (pi x) in t.
    """
    small, large = sorted((num_rows, dim))
    ratio = small / large
    angle = (torch.arange(_NODES, dtype=torch.float64) + 0.5) * math.pi / _NODES
    square = 1 + ratio + 2 * math.sqrt(ratio) * angle.cos()
    weight = 2 * angle.sin().square() / square / _NODES
    singular = square.sqrt()
    mean, entropy = float((weight * singular).sum()), float((weight * singular * singular.log()).sum())
    return small * math.exp(math.log(mean) - entropy / mean)
