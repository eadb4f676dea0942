"""How alike two matrices are in all their rows at once: no map is fitted.

Each beside its exact expected value where the tokens of one matrix are shuffled: what is left of it then has nothing
to do with which row is whose.
"""

from typing import NamedTuple

from tiedlm.embeddings.matrix import MatrixPair, spread_of


class Similarity(NamedTuple):
    """A value, and its mean over all ways to shuffle the tokens of one of the two matrices."""

    value: float
    chance: float


def linear_cka(pair: MatrixPair) -> Similarity:
    """||A'B||^2 / (||A'A|| ||B'B||) of centred rows (Kornblith et al. 2019): 1 for a copy, turned or not.

    By chance tr(A'A) tr(B'B) / ((V - 1) ||A'A|| ||B'B||): for normal entries about sqrt(D E / ((V + D) (V + E))).
    """
    mine, theirs = pair.one.covariance, pair.other.covariance
    norms = float(mine.norm() * theirs.norm())
    shuffled = spread_of(mine) * spread_of(theirs) / (pair.num_rows - 1)
    return Similarity(float(pair.product.square().sum()) / norms, shuffled / norms)


def symmetric_share(pair: MatrixPair) -> Similarity | None:
    """tr((W'E)^2) / tr(E'E W'W): of the table T = E W' of what each token says of the next by itself, <T, T'> / <T, T>.

    Of the input embedding E and the output embedding W, of equal width. 1 where T is symmetric, as it is with W = E; -1
    where it is antisymmetric, None where it is 0. By chance the part of the mean rows, which any two matrices have, and
    of the centred rows tr(E'E W'W) / (V - 1).
    """
    embedding, output, num_rows = pair.one, pair.other, pair.num_rows
    table = pair.product + num_rows * embedding.mean.outer(output.mean)
    norm = float((embedding.gram * output.gram).sum())
    if norm == 0:
        return None
    of_means = (num_rows * float(output.mean @ embedding.mean)) ** 2
    shuffled = of_means + float((embedding.covariance * output.covariance).sum()) / (num_rows - 1)
    return Similarity(float((table * table.T).sum()) / norm, shuffled / norm)
