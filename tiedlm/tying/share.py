"""A part of the rows or columns of a matrix, as a config says it."""

from typing import Annotated

from pydantic import BeforeValidator

from tiedlm.config.base import check
from tiedlm.config.problems import shown


def _count_or_fraction(value: object) -> object:
    """1e3 is a whole number to its writer, and 1.0 is all of them, not one."""
    if isinstance(value, float) and value > 1 and value.is_integer():
        value = int(value)
    is_count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    is_fraction = isinstance(value, float) and 0 <= value <= 1
    check(is_count or is_fraction, f"{shown(value)}: must be a count (a whole number) or a fraction from 0.0 to 1.0")
    return value


Share = Annotated[int | float, BeforeValidator(_count_or_fraction)]
"""How many of something: 1 is one of them, 1.0 is all of them."""


def count_of(share: int | float, total: int) -> int:
    """How many of `total` a share is."""
    return share if isinstance(share, int) else round(share * total)
