"""Candidates that Optuna's TPE proposes: by what was tried alone, none twice, and better than drawn ones."""

import math
import subprocess
import sys
from importlib import util
from typing import Any

import pytest

from tiedlm.config.base import ConfigError
from tiedlm.experiment.space import Choices, Range, Space, draw
from tiedlm.experiment.tpe import check_optuna, propose

SPACE: Space = {
    "rate": Range(low=1e-4, high=1e-1, log=True),
    "scale": Choices((1.0, "sqrt_dim")),
    "layers": Range(low=1, high=4, step=1),
}


def loss_of(point: dict[str, Any]) -> float:
    """0 at a rate of 0.01, a scale of sqrt_dim and two layers; infinite in a corner."""
    if point["rate"] > 5e-2 and point["scale"] == 1.0:
        return math.inf
    return float(math.log(point["rate"] / 1e-2) ** 2 + (point["scale"] == 1.0) + abs(point["layers"] - 2))


def tried_with(seed: int, num_drawn: int, num: int) -> list[dict[str, Any]]:
    points = [draw(SPACE, seed, number) for number in range(num_drawn)]
    while len(points) < num:
        points.append(propose(SPACE, points, list(map(loss_of, points)), seed))
    return points


def test_a_proposal_lies_in_the_space_as_a_config_has_it_and_repeats_none() -> None:
    points = tried_with(0, 5, 15)
    for point in points:
        assert all(one.holds(point[key]) for key, one in SPACE.items())
        assert type(point["layers"]) is int and point["rate"] == float(f"{point['rate']:.4g}")
    assert len({tuple(point.values()) for point in points}) == 15


def test_the_same_is_proposed_after_the_same_trials() -> None:
    """Nothing is kept between two questions, so that a search that was interrupted goes on the same way."""
    points = tried_with(3, 5, 9)
    for number in (5, 8):
        before = points[:number]
        assert propose(SPACE, before, list(map(loss_of, before)), 3) == points[number]


def test_another_outcome_or_seed_leads_elsewhere() -> None:
    points = tried_with(0, 8, 8)
    losses = list(map(loss_of, points))
    first = propose(SPACE, points, losses, 0)
    assert propose(SPACE, points, losses, 1) != first
    assert propose(SPACE, points, losses[::-1], 0) != first


def test_it_comes_nearer_to_the_best_than_draws_do() -> None:
    """The median over seven seeds of the lowest loss of 20."""
    proposed = sorted(min(map(loss_of, tried_with(seed, 8, 20))) for seed in range(7))[3]
    drawn = sorted(min(map(loss_of, tried_with(seed, 20, 20))) for seed in range(7))[3]
    assert proposed < drawn


def test_where_everything_diverged_it_still_proposes() -> None:
    points = [draw(SPACE, 0, number) for number in range(4)]
    assert propose(SPACE, points, [math.inf] * 4, 0) not in points


def test_the_last_point_of_a_small_space_is_found() -> None:
    space: Space = {"a": Choices((1, 2, 3))}
    assert propose(space, [{"a": 1}, {"a": 3}], [1.0, 2.0], 0) == {"a": 2}


def test_where_optuna_is_not_installed_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    check_optuna()
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"tune.method: tpe needs Optuna: pip install 'tiedlm\[tune\]'"):
        check_optuna()


def test_a_plan_is_made_without_it() -> None:
    program = "import sys, tiedlm.experiment.tune, tiedlm.experiment.reading; print('optuna' in sys.modules)"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "False"
