"""Every analysis of a comparison. To add one, write its file here beside and name it in this list. Free of torch."""

from dataclasses import dataclass

from tiedlm.comparison.analyses.budget import Budget
from tiedlm.comparison.analyses.frequency import Frequency
from tiedlm.comparison.analyses.noise_floor import NoiseFloor
from tiedlm.comparison.analyses.tokens_to_reach import TokensToReach
from tiedlm.config.base import Config


@dataclass(frozen=True)
class Analysis:
    """One question about finished runs: `key` is where its answer stands in comparison.json, `schema` what it holds."""

    key: str
    schema: type[Config]


ANALYSES = (
    Analysis("noise_floor", NoiseFloor),
    Analysis("tokens_to_reach", TokensToReach),
    Analysis("frequency", Frequency),
    Analysis("budget", Budget),
)
"""In the order in which they are stored."""
