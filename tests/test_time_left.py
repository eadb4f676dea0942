"""The time left: of the task under way, and of all runs after it."""

import pytest

from tests.support.clock import Clock
from tiedlm.time_left import Pace, RunsAhead, in_words, left_in_words


def test_times_are_minutes_and_hours() -> None:
    assert [in_words(seconds) for seconds in (0, 59.6, 3599, 3600, 90_061)] == [
        "00:00",
        "01:00",
        "59:59",
        "1:00:00",
        "25:01:01",
    ]


def test_the_first_run_is_taken_for_what_the_others_will_be() -> None:
    """It started for 6 s, and has trained a quarter of its steps in 10: 30 s of it, and 3 runs of 46 s, are left."""
    clock = Clock()
    ahead = RunsAhead(3, clock=clock)
    clock.now = 6
    task = Pace(400, clock)
    task.reach(0)
    clock.now = 16
    task.reach(100)
    assert ahead.left(task) == pytest.approx(30 + 3 * 46)
    assert left_in_words(task, ahead) == "02:48 left in all"


def test_a_run_that_goes_on_does_not_make_the_others_look_short() -> None:
    """The last 20 of 400 steps in 1 s, and then its scoring: a run after it still takes 20 s and more."""
    clock = Clock()
    ahead = RunsAhead(1, clock=clock)
    training = Pace(400, clock)
    training.reach(380)
    clock.now = 0.5
    training.reach(390)
    assert ahead.left(training) == pytest.approx(0.5 + 20)
    scoring = Pace(100, clock)
    scoring.reach(0)
    clock.now = 1.0
    scoring.reach(50)
    assert ahead.left(scoring) == pytest.approx(0.5 + 20)


def test_once_runs_have_ended_it_is_known_what_one_takes_with_its_start_and_its_scoring() -> None:
    clock = Clock()
    ahead = RunsAhead(2, seconds_each=60, clock=clock)
    task = Pace(100, clock)
    task.reach(0)
    clock.now = 30
    task.reach(75)
    assert ahead.left(task) == pytest.approx(30 + 2 * 60), "10 s of training, and 20 of what the others did after it"
    clock.now = 120
    task.reach(80)
    assert ahead.left(task) == pytest.approx(30 + 2 * 60), "slower than the others: its own pace counts"


def test_before_there_is_a_pace_no_time_is_told_and_the_last_run_is_not_all() -> None:
    assert left_in_words(Pace(10), RunsAhead(2)) == "--:-- left in all"
    clock = Clock()
    last = Pace(10, clock)
    last.reach(0)
    clock.now = 5
    last.reach(5)
    assert left_in_words(last, RunsAhead(0, seconds_each=100, clock=clock)) == "00:05 left"


def test_a_slow_first_step_is_forgotten_as_the_run_gets_on() -> None:
    """2 s for the first of 450 steps, a tenth for each after it: at the end of that run 9 more of 47 s are left."""
    clock = Clock()
    ahead = RunsAhead(9, clock=clock)
    task = Pace(450, clock)
    task.reach(0)
    clock.now = 2
    task.reach(1)
    assert ahead.left(task) == pytest.approx(449 * 2 + 9 * 450 * 2)
    for step in range(2, 451):
        clock.now += 0.1
        task.reach(step)
        ahead.left(task)
    assert ahead.left(task) == pytest.approx(9 * (2 + 44.9))
