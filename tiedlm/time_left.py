"""How long a task will still take, and the runs that come after it."""

import time
from collections.abc import Callable
from typing import NamedTuple

Clock = Callable[[], float]
"""Seconds since some moment."""


class Pace:
    """How fast a task gets on; one that goes on begins where it was left: that part was not done just now."""

    def __init__(self, total: float, clock: Clock = time.monotonic) -> None:
        self.total = total
        self.done = 0.0
        self.clock = clock
        self.began = clock()
        self.first: float | None = None

    def reach(self, done: float) -> None:
        """Note how far it is, in the unit of `total`."""
        if self.first is None:
            self.first, self.began = done, self.clock()
        self.done = done

    @property
    def share(self) -> float:
        """The part that is done, from 0 to 1; a task over nothing is done."""
        return self.done / self.total if self.total else 1.0

    @property
    def elapsed(self) -> float:
        """Seconds since it began, or went on."""
        return self.clock() - self.began

    @property
    def seconds(self) -> float | None:
        """What all of it takes at this pace; None before there is one."""
        achieved = self.done - (self.first or 0)
        return self.elapsed / achieved * self.total if achieved > 0 else None

    @property
    def left(self) -> float | None:
        """Seconds that are left at this pace; None before there is one."""
        whole = self.seconds
        return None if whole is None else whole * max(1 - self.share, 0)


class Ahead(NamedTuple):
    """How many runs come after one, and what those before it took; None where none has ended yet.

    Runs of unequal length are counted in runs of the length of that one.
    """

    num_runs: float = 0
    seconds_each: float | None = None


NONE_AHEAD = Ahead()


class RunsAhead:
    """The runs that come after the one under way, which began when this was made.

    Without `seconds_each` they are taken to be as long as this one will be.
    """

    def __init__(self, num_runs: float = 0, seconds_each: float | None = None, clock: Clock = time.monotonic) -> None:
        self.num_runs = num_runs
        self.seconds_each = seconds_each
        self.clock = clock
        self.began = clock()
        self._task: Pace | None = None
        self._after_earlier_tasks = self._whole_run = 0.0

    def left(self, task: Pace) -> float | None:
        """Seconds until the last run ends, with `task` a part of the run under way; None before it has a pace."""
        left, whole = task.left, task.seconds
        if left is None or whole is None:
            return None
        if not self.num_runs:
            return left
        elapsed = self.clock() - self.began
        if self.seconds_each is None:
            if task is not self._task:
                self._task, self._after_earlier_tasks = task, self._whole_run
            # a later task is short, and of a run that was stopped only the first says how long all of it takes
            self._whole_run = max(self._after_earlier_tasks, elapsed - task.elapsed + whole)
            return left + self.num_runs * self._whole_run
        return max(left, self.seconds_each - elapsed) + self.num_runs * self.seconds_each


def in_words(seconds: float) -> str:
    """ "03:25", "1:03:25"."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"


def left_in_words(task: Pace, ahead: RunsAhead) -> str:
    """ "03:25 left", "41:20 left in all" where runs come after this one, "--:-- left" before there is a pace."""
    left = ahead.left(task)
    return f"{'--:--' if left is None else in_words(left)} left{' in all' if ahead.num_runs else ''}"
