"""Successive halving: rungs that are fixed beforehand, how many go on, what it takes."""

import math

import pytest

from tiedlm.experiment.halving import Halving, best


def test_the_rungs_are_powers_of_the_reduction_from_the_first_part_of_a_run() -> None:
    assert Halving(reduction=3, min_fraction=1 / 9).shares == pytest.approx((1 / 9, 1 / 3, 1))
    assert Halving(reduction=3, min_fraction=0.2).shares == pytest.approx((0.2, 0.6, 1))
    assert Halving(reduction=2, min_fraction=0.6).shares == (0.6, 1)


def test_of_so_many_one_goes_on() -> None:
    halving = Halving(reduction=3, min_fraction=1 / 9)
    assert halving.entrants(27) == [27, 9, 3]
    assert halving.entrants(10) == [10, 4, 2]
    assert halving.entrants(1) == [1, 1, 1]


def test_what_it_takes_is_known_beforehand() -> None:
    """27 ninths, 9 times two ninths more, 3 times the last two thirds: 7 whole runs where a grid takes 27."""
    halving = Halving(reduction=3, min_fraction=1 / 9)
    assert halving.whole_runs(27) == pytest.approx(3 + 2 + 2)
    assert halving.steps(27, 90) == 27 * 10 + 9 * 20 + 3 * 60
    uneven = Halving(reduction=2, min_fraction=0.3)
    assert uneven.steps(4, 7) == 4 * 3 + 2 * (5 - 3) + 1 * (7 - 5), "rungs after steps 3 and 5"


def test_the_best_are_the_lowest_of_equals_the_first_and_never_infinite() -> None:
    assert best([3, 1, 2, 1, 1], 2) == [1, 3]
    assert best([3, math.inf, 2], 3) == [0, 2]
    assert best([math.inf], 1) == []
