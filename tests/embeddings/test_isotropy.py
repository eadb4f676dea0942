"""Isotropy and effective rank: 1 and D for normal entries, 0 and 1 for rows on one line."""

import math

import pytest
import torch

from tests.support.planted import D, V, normal, rank_one, rotation
from tiedlm.embeddings.isotropy import (
    effective_rank,
    isoscore,
    isotropy,
    mean_cosine,
    normal_effective_rank,
    normal_isoscore,
    partition,
)
from tiedlm.embeddings.matrix import Matrix


def published_isoscore(rows: torch.Tensor) -> float:
    """As Rudman et al. (2022) define it, step by step."""
    dim = rows.shape[1]
    variances = torch.linalg.eigvalsh(torch.cov(rows.T))
    normalized = math.sqrt(dim) * variances / variances.norm()
    defect = float((normalized - 1).norm()) / math.sqrt(2 * (dim - math.sqrt(dim)))
    share = (dim - defect**2 * (dim - math.sqrt(dim))) ** 2 / dim**2
    return (dim * share - 1) / (dim - 1)


def test_isoscore_is_that_of_its_definition() -> None:
    rows = normal().double() * torch.logspace(-1, 1, D, dtype=torch.float64) + 3
    assert isoscore(Matrix(rows)) == pytest.approx(published_isoscore(rows), rel=1e-9)


@pytest.mark.parametrize(("num_rows", "dim"), [(V, D), (300, 150), (60, 90)])
def test_normal_entries_have_the_isoscore_and_the_rank_of_the_closed_forms(num_rows: int, dim: int) -> None:
    matrix = Matrix(normal(num_rows, dim))
    assert isoscore(matrix) == pytest.approx(normal_isoscore(num_rows, dim), rel=0.02)
    assert effective_rank(matrix) == pytest.approx(normal_effective_rank(num_rows, dim), rel=0.01)


def test_with_many_more_rows_than_columns_the_closed_forms_are_one_and_the_width() -> None:
    assert normal_isoscore(10**9, D) == pytest.approx(1, abs=1e-6)
    assert normal_effective_rank(10**9, D) == pytest.approx(D, rel=1e-6)
    assert normal_effective_rank(D, 10**9) == pytest.approx(D, rel=1e-6)


def test_normal_entries_point_everywhere() -> None:
    found = isotropy(Matrix(normal() * 0.1))
    assert abs(found.mean_cosine) < 1e-3
    assert found.partition > 0.97


def test_rows_on_one_line_point_one_way() -> None:
    matrix = Matrix(rank_one())
    found = isotropy(matrix)
    assert found.isoscore == pytest.approx(0, abs=1e-9)
    assert found.partition < 1e-3
    assert effective_rank(matrix) == pytest.approx(1, abs=1e-9)


def test_the_mean_cosine_is_that_of_all_pairs() -> None:
    rows = normal(30, 5).double() + 1
    unit = rows / rows.norm(dim=1, keepdim=True)
    cosines = unit @ unit.T
    expected = float(cosines.sum() - 30) / (30 * 29)
    assert mean_cosine(Matrix(rows)) == pytest.approx(expected, rel=1e-12)
    assert mean_cosine(Matrix(rows[:1].expand(20, 5))) == pytest.approx(1)


def test_the_partition_is_that_of_its_sums_and_does_not_overflow() -> None:
    rows = normal(50, 4).double() + 0.5
    _, vectors = torch.linalg.eigh(rows.T @ rows)
    z = torch.cat([(rows @ vectors).exp().sum(0), (-(rows @ vectors)).exp().sum(0)])
    assert partition(Matrix(rows)) == pytest.approx(float(z.min() / z.max()), rel=1e-9)
    assert partition(Matrix(rows * 1e5)) == 0


def test_the_effective_rank_is_the_exponential_of_an_entropy_and_a_turn_leaves_it() -> None:
    rows = normal(60, D).double() * torch.linspace(0.1, 3, D, dtype=torch.float64)
    shares = torch.linalg.svdvals(rows)
    shares = shares / shares.sum()
    expected = math.exp(-float((shares * shares.log()).sum()))
    assert effective_rank(Matrix(rows)) == pytest.approx(expected, rel=1e-7)
    assert effective_rank(Matrix(rows @ rotation())) == pytest.approx(expected, rel=1e-7)


def test_rows_of_width_one_have_no_isoscore() -> None:
    assert isoscore(Matrix(normal(dim=1))) is None and normal_isoscore(V, 1) is None
