"""Frequency in the rows: a planted direction is found whole, and nothing is found in independent rows."""

import pytest
import torch
from scipy.stats import spearmanr

from tests.support.planted import D, V, normal
from tiedlm.embeddings.frequency import frequency, spearman
from tiedlm.embeddings.matrix import Matrix, halves

COUNTS = torch.arange(1, V + 1)[torch.randperm(V, generator=torch.Generator().manual_seed(3))] ** 2
LOGS = COUNTS.double().log()
UNIT = torch.nn.functional.normalize(normal(1, D, seed=4)[0], dim=0).double()


def test_a_planted_direction_is_found_and_is_all_of_it() -> None:
    found = frequency(Matrix(normal().double() * 0.01 + LOGS.unsqueeze(1) * UNIT), COUNTS)
    assert found.r2 == pytest.approx(1, abs=1e-3)
    assert found.direction == pytest.approx(1, abs=1e-3)
    assert found.spearman is not None and found.spearman > 0.999


def test_a_direction_within_noise_is_held_to_what_can_be_predicted() -> None:
    """ln count with variance s^2 along one direction of noise 1: s^2 / (1 + s^2)."""
    signal = (LOGS - LOGS.mean()) / LOGS.std()
    found = frequency(Matrix(normal().double() + 2 * signal.unsqueeze(1) * UNIT), COUNTS)
    assert found.r2 == pytest.approx(4 / 5, abs=0.03)
    assert found.direction == pytest.approx(1, abs=0.03)


def test_what_takes_many_directions_is_not_in_one() -> None:
    """ln count is a sum along directions whose scales differ: the one that goes furthest with it says a part alone."""
    rows = normal().double() * torch.logspace(0, 1.5, D, dtype=torch.float64)
    logs = (rows / torch.logspace(0, 1.5, D, dtype=torch.float64)).sum(1)
    counts = (1e6 * (logs / 3).exp()).round().long()
    found = frequency(Matrix(rows), counts)
    assert found.r2 is not None and found.r2 > 0.999
    assert found.direction is not None and found.direction < 0.7


def test_independent_rows_say_nothing() -> None:
    found = frequency(Matrix(normal()), COUNTS)
    assert found.r2 is not None and abs(found.r2) < 0.03
    assert found.direction is None
    assert found.spearman is not None and abs(found.spearman) < 4 / V**0.5


def test_lengths_that_go_with_the_counts_are_seen_in_them_alone() -> None:
    directions = torch.nn.functional.normalize(normal(), dim=1)
    found = frequency(Matrix(directions * LOGS.unsqueeze(1)), COUNTS)
    assert found.spearman == pytest.approx(1, abs=1e-6)
    assert found.r2 is not None and found.r2 < 0.05


def test_more_columns_than_tokens_are_shrunk_until_they_predict() -> None:
    few = 60
    found = frequency(Matrix(normal(few, 200).double() + 4 * LOGS[:few].unsqueeze(1)), COUNTS[:few])
    assert found.r2 is not None and found.r2 > 0.9


def test_the_counts_of_the_held_out_half_are_not_fitted() -> None:
    """Shuffled among themselves, they cannot be predicted any more."""
    rows = normal().double() * 0.01 + LOGS.unsqueeze(1) * UNIT
    _, held_out = halves(V)
    counts = COUNTS.clone()
    counts[held_out] = counts[held_out.flip(0)]
    found = frequency(Matrix(rows), counts)
    assert found.r2 is not None and found.r2 < 0


def test_ranks_are_those_of_scipy_with_ties() -> None:
    one, other = torch.tensor([3.0, 1, 1, 7, 5, 5, 5, 2]), torch.tensor([1.0, 2, 2, 9, 9, 4, 3, 0])
    assert spearman(one, other) == pytest.approx(float(spearmanr(one, other).statistic), abs=1e-12)


def test_what_does_not_vary_has_no_figure() -> None:
    found = frequency(Matrix(normal()), torch.full((V,), 7))
    assert found == (None, None, None)
    for row in (normal(1), normal(1).double() / 3):
        assert frequency(Matrix(row.expand(V, D)), COUNTS).r2 is None
