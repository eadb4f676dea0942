"""What arguments may be, checked as the command line checks its options. Imports nothing that takes time."""

import math
from collections.abc import Sequence

from tiedlm.errors import ConfigError, Problem

MAX_SEED = 2**32 - 1


def check_whole(name: str, value: int | None, at_least: int, at_most: int | None = None) -> None:
    """Raise ConfigError where an argument is not a whole number in its range; None is one that was not given."""
    if value is None:
        return
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or value < at_least or (at_most is not None and value > at_most):
        wanted = f"from {at_least} to {at_most:,}" if at_most is not None else f"of at least {at_least}"
        raise ConfigError(Problem(name, f"{value!r}: must be a whole number {wanted}"))


def check_seed(seed: int | None) -> None:
    """Raise ConfigError where it is no seed."""
    check_whole("seed", seed, 0, MAX_SEED)


def check_not_negative(name: str, value: float) -> None:
    """Raise ConfigError where an argument is not a finite number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ConfigError(Problem(name, f"{value!r}: must be a finite number of at least 0"))


def check_one_of(name: str, value: str, known: Sequence[str]) -> None:
    """Raise ConfigError where an argument is not one of some words."""
    if value not in known:
        raise ConfigError(Problem(name, f"{value!r} is not one of {', '.join(known)}"))
