"""A matrix read block by block has the sums of the whole."""

import pytest
import torch

from tests.support.planted import D, V, beside, normal
from tiedlm.embeddings import matrix as module
from tiedlm.embeddings.matrix import Matrix, halves, usable_rows


@pytest.mark.parametrize("rows_at_once", [1, 7, V - 1, V])
def test_blocks_add_up_to_the_matrix_in_float64(monkeypatch: pytest.MonkeyPatch, rows_at_once: int) -> None:
    monkeypatch.setattr(module, "_BLOCK_BYTES", rows_at_once * 8 * D)
    one, other = normal(100) + 5, normal(100, 3, seed=1)
    matrix, exact = Matrix(one), one.double()
    centred, theirs = exact - exact.mean(0), other.double() - other.double().mean(0)
    torch.testing.assert_close(matrix.mean, exact.mean(0))
    torch.testing.assert_close(matrix.norms, exact.norm(dim=1))
    torch.testing.assert_close(matrix.covariance, centred.T @ centred)
    torch.testing.assert_close(matrix.gram, exact.T @ exact)
    torch.testing.assert_close(beside(one, other).product, centred.T @ theirs)
    torch.testing.assert_close(beside(other, one).product, theirs.T @ centred)
    assert beside(one, one).product.equal(matrix.covariance)


def test_16_bit_rows_are_added_up_as_exactly_as_others() -> None:
    rows = normal().bfloat16()
    torch.testing.assert_close(Matrix(rows).gram, rows.double().T @ rows.double())


def test_chosen_rows_are_those_of_the_choice_and_a_choice_of_it_again() -> None:
    rows = normal(50)
    index = torch.tensor([4, 40, 7, 9])
    chosen = Matrix(rows).only(index)
    assert chosen.at(slice(None)).equal(rows[index].double())
    assert chosen.only(torch.tensor([2, 0])).at(slice(None)).equal(rows[[7, 4]].double())
    assert chosen.num_rows == 4 and chosen.norms.equal(rows[index].double().norm(dim=1))


def test_halves_have_every_token_once_and_stay_the_same() -> None:
    fitted, held_out = halves(101)
    assert (len(fitted), len(held_out)) == (50, 51)
    assert torch.cat([fitted, held_out]).sort().values.equal(torch.arange(101))
    assert all(one.equal(other) for one, other in zip(halves(101), (fitted, held_out), strict=True))


def test_rows_without_a_direction_are_not_usable_in_any_matrix() -> None:
    one, other = normal(6), normal(6, seed=1)
    one[1], one[2, 3], other[4, 0] = 0, torch.nan, torch.inf
    assert usable_rows(Matrix(one), Matrix(other)).tolist() == [True, False, False, True, False, True]


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_equal_rows_are_constant_at_any_scale_and_others_are_not(size: float) -> None:
    equal = (normal(1) * size).expand(30, D).clone()
    assert Matrix(equal).is_constant
    equal[3, 2] *= 1 + 1e-5
    assert not Matrix(equal).is_constant
