"""Learning rates: never 0 at the start, peak after warm-up, and what each schedule promises at its end."""

import itertools
import math
from typing import Any

import pytest

from tiedlm.config.base import ConfigError, parse
from tiedlm.training.config import TrainingConfig
from tiedlm.training.schedule import Schedule, steps_before_decay


def schedule(num_steps: int, **keys: Any) -> Schedule:
    raw = {"tokens": 10**6, "batch_size": 4, "learning_rate": 0.1, **keys}
    return Schedule(parse(TrainingConfig, raw), num_steps)


@pytest.mark.parametrize("name", ["cosine", "constant", "wsd", "step"])
@pytest.mark.parametrize("warmup", [0, 1, 5, 0.3])
def test_l05_every_rate_is_above_zero_and_none_above_the_peak(name: str, warmup: float) -> None:
    rates = [schedule(20, schedule=name, warmup=warmup)(step) for step in range(20)]
    assert min(rates) > 0
    assert max(rates) == pytest.approx(0.1)


def test_warm_up_is_linear_and_ends_at_the_peak() -> None:
    ramp = schedule(20, schedule="constant", warmup=4)
    assert [ramp(step) for step in range(6)] == pytest.approx([0.025, 0.05, 0.075, 0.1, 0.1, 0.1])


def test_a_fraction_of_the_run_warms_up_like_the_same_number_of_steps() -> None:
    fraction, whole = schedule(40, warmup=0.25), schedule(40, warmup=10)
    assert [fraction(step) for step in range(40)] == [whole(step) for step in range(40)]


def test_cosine_is_half_way_in_the_middle_and_near_its_floor_at_the_end() -> None:
    cosine = schedule(1000, min_learning_rate=0.02)
    assert cosine(500) == pytest.approx(0.06)
    assert cosine(999) == pytest.approx(0.02, abs=1e-6)
    assert cosine(250) == pytest.approx(0.02 + 0.08 * (1 + math.cos(math.pi / 4)) / 2)


def test_wsd_is_stable_and_then_falls_in_equal_steps() -> None:
    wsd = schedule(20, schedule="wsd", warmup=2, decay=4)
    rates = [wsd(step) for step in range(20)]
    assert rates[2:16] == pytest.approx([0.1] * 14)
    falls = [before - after for before, after in itertools.pairwise(rates[15:])]
    assert falls == pytest.approx([falls[0]] * 4) and falls[0] > 0


def test_step_falls_by_gamma_at_each_milestone() -> None:
    steps = schedule(100, schedule="step", milestones=[0.5, 0.75], gamma=0.1)
    assert [steps(step) for step in (0, 49, 50, 74, 75, 99)] == pytest.approx([0.1, 0.1, 0.01, 0.01, 0.001, 0.001])


@pytest.mark.parametrize("warmup", [20, 25])
def test_l05_a_warm_up_longer_than_the_run_is_refused(warmup: int) -> None:
    with pytest.raises(ConfigError, match=r"training\.warmup"):
        schedule(20, warmup=warmup)


def test_a_run_of_one_step_may_be_all_warm_up() -> None:
    assert schedule(1, warmup=1)(0) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("keys", "num_steps"),
    [
        ({"steps": 7}, 7),
        ({"tokens": 4 * 8 * 5}, 5),
        ({"tokens": 4 * 8 * 5 + 1}, 6),
        ({"epochs": 2}, 15),
        ({"epochs": 0.1}, 1),
        ({"epochs": 0.3}, 3),
    ],
)
def test_a_run_is_as_long_as_was_asked_for_in_whole_steps(keys: dict[str, Any], num_steps: int) -> None:
    """0.1 x 30 / 4 and the like are exact: in floats a step too many would come of it."""
    config = parse(TrainingConfig, {"batch_size": 4, "learning_rate": 0.1, **keys})
    assert config.num_steps(seq_len=8, num_windows=30) == num_steps


def test_every_whole_number_of_epochs_is_exact() -> None:
    for epochs in range(1, 40):
        config = parse(TrainingConfig, {"batch_size": 7, "learning_rate": 0.1, "epochs": float(epochs)})
        assert config.num_steps(seq_len=8, num_windows=29) == -(-epochs * 29 // 7)


@pytest.mark.parametrize("decay", [1, 7, 0.25, 0.99])
def test_the_steps_before_a_decay_are_those_at_the_peak(decay: float) -> None:
    rates = [schedule(40, schedule="wsd", decay=decay)(step) for step in range(40)]
    count = steps_before_decay("wsd", decay, 40)
    assert count is not None
    assert rates[:count] == [0.1] * count
    assert all(rate < 0.1 for rate in rates[count:])
    assert (steps_before_decay("constant", None, 40), steps_before_decay("cosine", None, 40)) == (40, None)
