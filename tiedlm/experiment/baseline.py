"""Which variant the others are compared with where nobody names one. Pure, and free of torch."""

from collections.abc import Sequence


def default_baseline(variants: Sequence[str]) -> str:
    """`untied` where there is one, else the first of at least one."""
    return "untied" if "untied" in variants else variants[0]
