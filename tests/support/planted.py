"""Matrices of which every measure is known."""

import torch
from torch import Tensor

from tiedlm.embeddings.matrix import Matrix, MatrixPair
from tiedlm.embeddings.pair import EmbeddingPair

V, D = 2000, 40


def normal(num_rows: int = V, dim: int = D, seed: int = 0) -> Tensor:
    """Independent normal entries (V, D), fp32."""
    return torch.randn(num_rows, dim, generator=torch.Generator().manual_seed(seed))


def rotation(dim: int = D, seed: int = 9) -> Tensor:
    """A random orthogonal matrix (D, D), float64."""
    q, _ = torch.linalg.qr(normal(dim, dim, seed).double())
    turned: Tensor = q
    return turned


def rank_one(num_rows: int = V, dim: int = D) -> Tensor:
    """Rows that all lie on one line."""
    return torch.outer(normal(num_rows, 1, 5)[:, 0], normal(1, dim, 6)[0])


def beside(one: Tensor, other: Tensor) -> MatrixPair:
    """Two matrices with the same tokens."""
    return MatrixPair(Matrix(one), Matrix(other))


def planted_pair(
    input_: Tensor, output: Tensor, name: str = "model", tokens: list[str] | None = None, counts: Tensor | None = None
) -> EmbeddingPair:
    """A model that is nothing but its matrices."""
    named = [f"token {row}" for row in range(len(input_))] if tokens is None else tokens
    return EmbeddingPair(name, name, input_, output, named, counts)
