"""Do the rows say how frequent their token is? Of tokens that were seen: the others have no ln count."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from tiedlm.embeddings.matrix import Matrix, halves

_STRENGTHS = torch.logspace(-10, 4, 57, dtype=torch.float64)
"""Ridge penalties that are tried, in units of the mean eigenvalue."""
_LEAST_R2 = 0.1
"""Below it there is nothing to have a share of."""


class Frequency(NamedTuple):
    """`spearman` of the rows' lengths and ln count; None where either does not vary.

    `r2` is the share of the variance of ln count that a linear map of the rows predicts on the half of the tokens that
    it was not fitted on (0 for independent rows, below 0 where it does worse than the mean). `direction` is that of
    the one direction of the rows which goes furthest with ln count, as a share of `r2`: above 1 where it predicts
    better than all of them together, None where `r2` is below 0.1, too little to have a share of.
    """

    spearman: float | None
    r2: float | None
    direction: float | None


def frequency(matrix: Matrix, counts: Tensor) -> Frequency:
    """How a matrix goes with counts (V,), each above 0, of at least 4 tokens."""
    assert matrix.num_rows == len(counts) >= 4 and bool((counts > 0).all())
    logs = counts.double().log()
    correlation = spearman(matrix.norms, logs)
    r2 = _held_out(matrix, logs)
    if r2 is None:
        return Frequency(correlation, None, None)
    by_ridge, by_one = r2
    return Frequency(correlation, by_ridge, by_one / by_ridge if by_ridge >= _LEAST_R2 else None)


def spearman(one: Tensor, other: Tensor) -> float | None:
    """The correlation of ranks (n,), equal values with their mean rank; None where either does not vary."""
    ranks = [_ranks(values) for values in (one, other)]
    x, y = (values - values.mean() for values in ranks)
    length = float(x.norm() * y.norm())
    return float(x @ y) / length if length else None


def _ranks(values: Tensor) -> Tensor:
    _, place, times = values.unique(return_inverse=True, return_counts=True)
    last = times.cumsum(0).double()
    ranks: Tensor = (last - (times.double() - 1) / 2)[place]
    return ranks


def _held_out(matrix: Matrix, logs: Tensor) -> tuple[float, float] | None:
    """R^2 on the half that was held out: of ridge, and of the first direction of partial least squares."""
    fitted, held_out = halves(len(logs))
    rows, target = matrix.only(fitted), logs[fitted]
    if any(float(part.min()) == float(part.max()) for part in (target, logs[held_out])):
        return None
    centre = target.mean()
    target = target - centre
    products = torch.zeros(rows.dim, dtype=torch.float64)
    for part, block in rows.blocks():
        products += (block - rows.mean).T @ target[part]
    if rows.is_constant or not products.any():
        return None
    truth = logs[held_out] - centre
    total = float(truth.square().sum())
    slope = products @ products / (products @ rows.covariance @ products)
    maps = torch.stack([_ridge(rows.covariance, products, target), slope * products], 1)
    left = torch.zeros(2, dtype=torch.float64)
    for part, block in matrix.only(held_out).blocks():
        left += (truth[part].unsqueeze(1) - (block - rows.mean) @ maps).square().sum(0)
    ridge, direction = (1 - left / total).tolist()
    return ridge, direction


def _ridge(covariance: Tensor, products: Tensor, target: Tensor) -> Tensor:
    """Ridge coefficients (D,) with the penalty of least generalized cross-validation error (Golub et al. 1979)."""
    values, vectors = torch.linalg.eigh(covariance)
    values = values.clamp(min=0)  # what is below 0 is rounding
    along, num_rows = vectors.T @ products, len(target)
    best, chosen = math.inf, _STRENGTHS[-1] * values.mean()
    for penalty in (_STRENGTHS * values.mean()).tolist():
        shrunk = values + penalty
        residual = float(target @ target - (along.square() * (values + 2 * penalty) / shrunk.square()).sum())
        left = num_rows - 1 - float((values / shrunk).sum())
        error = residual / left**2 if left > 0.5 else math.inf
        if error < best:
            best, chosen = error, penalty
    coefficients: Tensor = vectors @ (along / (values + chosen))
    return coefficients
