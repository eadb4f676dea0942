"""Distance from the start, row by row."""

import math

import pytest
import torch

from tests.support.planted import beside, normal
from tiedlm.embeddings.movement import movement


def test_a_row_that_stayed_is_at_distance_0_and_one_twice_as_long_at_1() -> None:
    start, end = normal(4), normal(4)
    end[1] *= 2
    end[2] *= -1
    moved = movement(beside(start, end))
    torch.testing.assert_close(moved.distance, torch.tensor([0, 1, 2, 0], dtype=torch.float64))
    torch.testing.assert_close(moved.cosine, torch.tensor([1, 1, -1, 1], dtype=torch.float64))


def test_another_row_of_the_same_length_is_about_the_root_of_two_away() -> None:
    moved = movement(beside(normal(500, 2000), normal(500, 2000, seed=1)))
    assert float(moved.distance.mean()) == pytest.approx(math.sqrt(2), abs=0.01)
    assert abs(float(moved.cosine.mean())) < 0.01


def test_from_a_start_of_0_there_is_no_relative_distance() -> None:
    start = normal(3)
    start[1] = 0
    moved = movement(beside(start, normal(3, seed=1)))
    assert moved.distance.isnan().tolist() == moved.cosine.isnan().tolist() == [False, True, False]
