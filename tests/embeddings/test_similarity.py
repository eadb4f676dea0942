"""CKA and the symmetric share: their values for copies, turns and independent matrices, and by chance exactly."""

import itertools
import math

import pytest
import torch

from tests.support.planted import D, V, beside, normal, rotation
from tiedlm.embeddings.similarity import Similarity, linear_cka, symmetric_share


def share(embedding: torch.Tensor, output: torch.Tensor) -> float:
    found = symmetric_share(beside(embedding, output))
    assert found is not None
    return found.value


def test_cka_is_one_for_a_copy_turned_scaled_and_moved() -> None:
    rows = normal().double()
    assert linear_cka(beside(rows, rows)).value == pytest.approx(1, abs=1e-12)
    assert linear_cka(beside(rows, rows @ rotation() * 7 + 3)).value == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("width", [D, 11])
def test_cka_of_independent_matrices_is_that_by_chance_and_that_of_the_closed_form(width: int) -> None:
    found = linear_cka(beside(normal(), normal(V, width, seed=1)))
    closed = math.sqrt(D * width / ((V + D) * (V + width)))
    assert found.value == pytest.approx(closed, rel=0.1) and found.chance == pytest.approx(closed, rel=0.02)


@pytest.mark.parametrize("measure", [linear_cka, symmetric_share])
def test_the_value_by_chance_is_the_mean_over_all_ways_to_shuffle_the_tokens(measure: object) -> None:
    assert callable(measure)
    one, other = normal(6, 3).double() + 0.5, normal(6, 3, seed=1).double() - 0.3
    found: list[Similarity] = [
        measure(beside(one, other[list(order)])) for order in itertools.permutations(range(len(one)))
    ]
    mean = sum(each.value for each in found) / len(found)
    assert found[0].chance == pytest.approx(mean, rel=1e-9)
    assert {round(each.chance, 12) for each in found} == {round(found[0].chance, 12)}


def test_the_symmetric_share_is_that_of_the_table_itself() -> None:
    embedding, output = normal(30, 4).double(), normal(30, 4, seed=1).double()
    table = embedding @ output.T
    expected = float((table * table.T).sum() / table.square().sum())
    assert share(embedding, output) == pytest.approx(expected, rel=1e-9)


def test_the_table_of_tied_matrices_is_symmetric_and_that_of_independent_ones_is_not() -> None:
    rows = normal()
    assert share(rows, rows) == pytest.approx(1, abs=1e-9) == share(rows, -rows)
    assert abs(share(rows, normal(seed=1))) < 0.01


def test_an_antisymmetric_table_has_a_share_of_minus_one() -> None:
    rows = normal().double()
    half = D // 2
    quarter_turn = torch.zeros(D, D, dtype=torch.float64)
    quarter_turn[:half, half:], quarter_turn[half:, :half] = torch.eye(half), -torch.eye(half)
    assert share(rows, rows @ quarter_turn) == pytest.approx(-1, abs=1e-9)


def test_a_table_of_zeros_has_no_share() -> None:
    one, other = torch.zeros(2, V, D)
    one[:, : D // 2], other[:, D // 2 :] = 1, 1
    assert symmetric_share(beside(one, other)) is None
