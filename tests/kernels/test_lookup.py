"""A lookup against torch's own, with its gradient alone, joined with the head's, and apart from it."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tiedlm.kernels.lookup import lookup, scaled_gradient, shared_tables, table_view

V, E = 11, 3
IDS = torch.tensor([[3, 0, 3], [3, 10, 0]])


def drawn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def gradient(reads: Callable[[Tensor], tuple[Tensor, Tensor]], *uses: str) -> Tensor:
    """Of a table by what is made of its rows and of the matrix that the head reads."""
    table = drawn(V, E).requires_grad_()
    vectors, weight = reads(table)
    terms = {"rows": (vectors * drawn(2, 3, E, seed=1)).sum(), "matrix": (weight @ drawn(E, 4, seed=2)).square().sum()}
    torch.stack([terms[use] for use in uses]).sum().backward()
    assert table.grad is not None
    return table.grad


def plain(table: Tensor) -> tuple[Tensor, Tensor]:
    return F.embedding(IDS, table), table.view_as(table)


def joined(table: Tensor) -> tuple[Tensor, Tensor]:
    with shared_tables() as reads:
        vectors, weight = lookup(table, IDS), table_view(table)
    reads.join(weight)
    return vectors, weight


def not_joined(table: Tensor) -> tuple[Tensor, Tensor]:
    """Where the head reads something that is made of the table."""
    with shared_tables() as reads:
        vectors, weight = lookup(table, IDS), table_view(table) * 1
    reads.join(weight)
    return vectors, weight


def outside_of_a_pass(table: Tensor) -> tuple[Tensor, Tensor]:
    return lookup(table, IDS), table_view(table)


@pytest.mark.parametrize("reads", [joined, not_joined, outside_of_a_pass])
@pytest.mark.parametrize("uses", [("rows",), ("matrix",), ("rows", "matrix")], ids=str)
def test_values_and_gradients_are_those_of_torch_to_the_last_bit(
    reads: Callable[[Tensor], tuple[Tensor, Tensor]], uses: tuple[str, ...]
) -> None:
    table = drawn(V, E)
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(reads(table), plain(table), strict=True))
    assert torch.equal(gradient(reads, *uses).to_dense(), gradient(plain, *uses))


def test_the_gradient_of_a_joined_lookup_alone_is_its_rows() -> None:
    found = gradient(joined, "rows")
    assert found.is_sparse and found.coalesce().indices().tolist() == [[0, 3, 10]]
    assert not gradient(not_joined, "rows").is_sparse


def test_a_joined_gradient_lies_where_the_heads_did() -> None:
    table = drawn(V, E).requires_grad_()
    vectors, weight = joined(table)
    upstream = drawn(V, E, seed=3)
    expected = upstream.clone().index_add_(0, IDS.flatten(), torch.ones(6, E))
    (found,) = torch.autograd.grad([vectors, weight], [table], [torch.ones_like(vectors), upstream])
    assert found.data_ptr() == upstream.data_ptr()
    torch.testing.assert_close(found, expected)


def test_another_table_is_not_joined() -> None:
    table, other = drawn(V, E).requires_grad_(), drawn(V, E, seed=4).requires_grad_()
    with shared_tables() as reads:
        vectors, weight = lookup(table, IDS), table_view(other)
    reads.join(weight)
    vectors.sum().backward()
    weight.sum().backward()
    assert table.grad is not None and not table.grad.is_sparse
    assert other.grad is not None and torch.equal(other.grad, torch.ones(V, E))


def test_gradients_pass_finite_differences() -> None:
    def score(table: Tensor) -> Tensor:
        vectors, weight = joined(table)
        return (vectors @ weight.t()).tanh().sum()

    # the check of undefined gradients does not know that one may be sparse
    table = drawn(V, E, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(score, table, check_undefined_grad=False)


def test_a_scaled_gradient_changes_the_way_back_alone() -> None:
    vectors = drawn(2, 3).requires_grad_()
    result = scaled_gradient(vectors, 0.25)
    assert torch.equal(result, vectors)
    (found,) = torch.autograd.grad(result.sum(), vectors)
    assert torch.equal(found, torch.full((2, 3), 0.25))
