"""Variants that a plan adds to those of its file. Free of torch, and of what reads configs."""

from typing import Literal

from tiedlm.config.base import Config


class Added(Config):
    """Why a plan holds a variant that its file does not name, and of which variant it was made.

    The role "trial" is that of a run of the tuning search.
    """

    role: Literal["noise_floor", "matched_width", "matched_depth", "trial"]
    of: str
