"""Variants that a plan adds to those of its file. Free of torch, and of what reads configs."""

from typing import Literal

from tiedlm.config.base import Config


class Added(Config):
    """Why a plan holds a variant that its file does not name, and of which variant it was made."""

    role: Literal["noise_floor", "matched_width", "matched_depth", "trial"]
    """What the variant is for; trial: a run of the tuning search."""
    of: str
    """The variant that it was made of."""
