"""Why a plan holds a variant that its file does not name. Free of torch."""

from typing import Literal

from tiedlm.config import Config


class Added(Config):
    """What such a variant is there for, and the variant it was made of."""

    role: Literal["noise_floor", "matched_width", "matched_depth", "trial"]
    of: str
