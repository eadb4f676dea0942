"""Neighbours: those of the full table of cosines, whatever the tiles; all in common for a copy, few by chance."""

import pytest
import torch

from tests.support.planted import V, normal, rotation
from tiedlm.embeddings import neighbours as module
from tiedlm.embeddings.matrix import Matrix
from tiedlm.embeddings.neighbours import K, hubness, nearest, overlap_chance, overlaps, queries


def table_neighbours(rows: torch.Tensor, places: torch.Tensor, k: int) -> torch.Tensor:
    unit = rows.double() / rows.double().norm(dim=1, keepdim=True)
    cosines = unit @ unit.T
    cosines.fill_diagonal_(-2)
    found: torch.Tensor = cosines[places].topk(k).indices
    return found


@pytest.mark.parametrize("tile_bytes", [40 * 4 * 3, 40 * 4 * 50, 2**27])
def test_the_nearest_are_those_of_all_cosines_in_tiles_of_any_size(
    monkeypatch: pytest.MonkeyPatch, tile_bytes: int
) -> None:
    monkeypatch.setattr(module, "_TILE_BYTES", tile_bytes)
    rows, places = normal(300), torch.tensor([0, 5, 17, 150, 299])
    cosines, found = nearest(Matrix(rows), places, 7)
    assert found.equal(table_neighbours(rows, places, 7))
    unit = rows / rows.norm(dim=1, keepdim=True)
    torch.testing.assert_close(cosines, (unit[places].unsqueeze(1) * unit[found]).sum(2), rtol=1e-5, atol=1e-6)


def test_a_copy_scaled_or_turned_has_the_same_neighbours() -> None:
    rows, places = normal(500), queries(500, 100)
    mine = nearest(Matrix(rows), places)[1]
    assert overlaps(mine, nearest(Matrix(rows * 5), places)[1]).mean() == 1
    assert overlaps(mine, nearest(Matrix(rows.double() @ rotation()), places)[1]).mean() > 0.999


def test_independent_matrices_have_as_many_in_common_as_by_chance() -> None:
    places = queries(V, None)
    shares = overlaps(*(nearest(Matrix(normal(seed=seed)), places)[1] for seed in (0, 1)))
    chance = overlap_chance(V)
    assert chance == K / (V - 1)
    assert float(shares.mean()) == pytest.approx(chance, abs=5 * (chance / K / V) ** 0.5)


def test_queries_are_all_or_some_of_the_tokens_each_once_and_always_the_same() -> None:
    assert queries(50, None).equal(torch.arange(50)) and queries(50, 50).equal(torch.arange(50))
    some = queries(5000, 100)
    assert len(some.unique()) == 100 and some.equal(queries(5000, 100)) and some.max() > 4000


def test_a_hub_is_seen_and_neighbours_at_random_are_as_skewed_as_by_chance() -> None:
    draws = torch.rand(V, V - 1, generator=torch.Generator().manual_seed(0)).topk(K).indices
    at_random = draws + (draws >= torch.arange(V).unsqueeze(1))
    found = hubness(at_random, V)
    assert found is not None and found.skewness == pytest.approx(found.chance, abs=5 * (6 / V) ** 0.5)
    at_random[:, 0] = 3
    with_hub = hubness(at_random, V)
    assert with_hub is not None and with_hub.skewness > 30


def test_where_each_is_a_neighbour_equally_often_there_is_no_skewness() -> None:
    ring = torch.stack([(torch.arange(9) + 1) % 9, (torch.arange(9) - 1) % 9], 1)
    assert hubness(ring, 9) is None
