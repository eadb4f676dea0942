"""A clock that is set by hand, for what depends on the time that passed."""


class Clock:
    """Calling it tells the time: the seconds in `now`."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now
