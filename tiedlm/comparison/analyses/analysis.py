"""What an analysis is: one question about finished runs. Free of torch."""

from collections.abc import Callable
from typing import NamedTuple

from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.config.base import Config


class Analysis(NamedTuple):
    """`measure` answers the question, with None where there is nothing to measure.

    `key` is where the answer stands in comparison.json, `schema` what it holds.
    """

    key: str
    schema: type[Config]
    measure: Callable[[FinishedRuns], Config | None]
