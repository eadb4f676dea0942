"""How alike two matrices are in all their rows at once: no map is fitted.

Each beside its exact expected value where the tokens of one matrix are shuffled: what is left of it then has nothing
to do with which row is whose.
"""

from typing import NamedTuple

from torch import Tensor

from tiedlm.embeddings.matrix import Matrix, cross, spread_of


class Similarity(NamedTuple):
    """A value, and its mean over all ways to shuffle the tokens of one of the two matrices."""

    value: float
    chance: float


def linear_cka(one: Matrix, other: Matrix, product: Tensor | None = None) -> Similarity:
    """||A'B||^2 / (||A'A|| ||B'B||) of centred rows (Kornblith et al. 2019): 1 for a copy, turned or not.

    `product` is A'B, if known. By chance tr(A'A) tr(B'B) / ((V - 1) ||A'A|| ||B'B||): for normal entries about
    sqrt(D E / ((V + D) (V + E))).
    """
    product = cross(one, other) if product is None else product
    norms = float(one.covariance.norm() * other.covariance.norm())
    shuffled = spread_of(one.covariance) * spread_of(other.covariance) / (one.num_rows - 1)
    return Similarity(float(product.square().sum()) / norms, shuffled / norms)


def symmetric_share(embedding: Matrix, output: Matrix, product: Tensor | None = None) -> Similarity:
    """tr((W'E)^2) / tr(E'E W'W): of the table E W' of what each token says of the next by itself, <T, T'> / <T, T>.

    1 where it is symmetric, as it is with W = E; -1 where it is antisymmetric. `product` is E'W of centred rows, if
    known. By chance the part of the mean rows, which any two matrices have, and tr(E'E W'W) / (V - 1) of the rest.
    """
    num_rows, (e, w) = embedding.num_rows, (embedding.mean, output.mean)
    product = cross(embedding, output) if product is None else product
    table = product + num_rows * e.outer(w)
    norm = float((embedding.gram * output.gram).sum())
    shuffled = (num_rows * float(w @ e)) ** 2 + float((embedding.covariance * output.covariance).sum()) / (num_rows - 1)
    return Similarity(float((table * table.T).sum()) / norm, shuffled / norm)
