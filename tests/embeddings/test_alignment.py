"""Alignment: a copy, a turn and a linear map are found, and nothing is found between independent matrices."""

import math

import pytest
import torch

from tests.support.planted import D, V, beside, normal, rotation
from tiedlm.embeddings.alignment import ORTHOGONAL_FACTOR, identity, linear, orthogonal


def test_a_copy_is_the_same_by_every_map_also_where_its_mean_was_moved() -> None:
    rows = normal()
    for fit in (method(beside(rows, rows * 3 + 2)) for method in (identity, orthogonal, linear)):
        assert fit.held_out == pytest.approx(1, abs=1e-6) and fit.in_sample == pytest.approx(1, abs=1e-6)
        assert fit.range == pytest.approx((1, 1), abs=1e-5)


def test_a_turn_is_found_and_without_a_map_nothing_is() -> None:
    rows = normal()
    turned = beside(rows, (rows.double() @ rotation()).float())
    assert orthogonal(turned).held_out == pytest.approx(1, abs=1e-6)
    assert linear(turned).held_out == pytest.approx(1, abs=1e-6)
    assert abs(identity(turned).held_out) < 0.15  # the trace of one turn over D: about 1 / sqrt(D)


def test_a_linear_map_is_found_by_least_squares_alone_also_to_another_width() -> None:
    rows, stretch = normal().double(), torch.logspace(-2, 2, D, dtype=torch.float64)
    stretched = beside(rows, rows * stretch @ rotation())
    assert linear(stretched).held_out == pytest.approx(1, abs=1e-9)
    assert orthogonal(stretched).held_out < 0.8
    assert linear(beside(rows, rows @ normal(D, 7, seed=3).double())).held_out == pytest.approx(1, abs=1e-9)


def test_rows_on_fewer_directions_than_their_width_are_mapped_as_well() -> None:
    narrow = normal(V, 5).double()
    wide = narrow @ normal(5, D, seed=2).double()
    assert linear(beside(wide, narrow)).held_out == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("method", [identity, orthogonal, linear])
def test_between_independent_matrices_nothing_is_held_out_and_in_sample_is_its_floor(method: object) -> None:
    assert callable(method)
    found = [method(beside(normal(seed=2 * seed), normal(seed=2 * seed + 1))) for seed in range(4)]
    held_out = sum(fit.held_out for fit in found) / len(found)
    assert abs(held_out) < 4 / math.sqrt(len(found) * V / 2 * D)
    for fit in found:
        assert fit.in_sample == pytest.approx(fit.floor, rel=0.03, abs=0.015)


def test_the_floors_are_those_of_the_closed_form() -> None:
    """V = 5,030, D = 205: 0.1714 and 0.2019."""
    assert ORTHOGONAL_FACTOR * math.sqrt(205 / 5030) == pytest.approx(0.1714, abs=5e-5)
    assert math.sqrt(205 / 5030) == pytest.approx(0.2019, abs=5e-5)
    small = beside(normal(50, 10), normal(50, 10, seed=1))
    assert orthogonal(small).floor == ORTHOGONAL_FACTOR * math.sqrt(10 / 50)
    assert linear(small).floor == math.sqrt(10 / 50)
    assert identity(small).floor == 0
    assert linear(beside(normal(20), normal(20, seed=1))).floor == 1, "with less tokens than columns any map is there"


def test_what_is_held_out_was_not_fitted() -> None:
    """Half of the tokens correspond, those that a map is made from: the others show that it is worth nothing."""
    pair = beside(normal(), normal(seed=1))
    held_out, _, _ = pair.halves
    copied = pair.one.rows.clone()
    copied[held_out] = pair.other.rows[held_out]
    fit = linear(beside(pair.one.rows, copied))
    assert fit.places.equal(held_out) and len(fit.cosines) == len(held_out)
    assert abs(fit.held_out) < 0.02 and fit.in_sample > 0.4


def test_a_row_at_the_mean_has_no_direction_and_counts_as_0() -> None:
    rows = normal(4, 3)
    rows[:2], rows[2:] = 0, normal(1, 3)
    assert torch.isfinite(identity(beside(rows, rows)).cosines).all()
