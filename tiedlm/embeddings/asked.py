"""What is asked of an analysis. Free of torch."""

from dataclasses import dataclass

from tiedlm.embeddings.schema import MEASURES

OF_MATRIX = ("isotropy", "rank", "frequency", "neighbours", "distance")
"""The measures of one matrix; `neighbours` is its hubness."""
OF_PAIR = ("alignment", "cka", "neighbours", "symmetry")
"""Those of a pair."""


@dataclass(frozen=True)
class Asked:
    """Which of MEASURES to take, whether also by frequency, and how many queries for neighbours (None: all)."""

    measures: frozenset[str] = frozenset(MEASURES)
    by_frequency: bool = False
    num_queries: int | None = None

    def of_matrix(self) -> list[str]:
        """The measures of one matrix that are asked for."""
        return [name for name in OF_MATRIX if name in self.measures]

    def of_pair(self) -> list[str]:
        """Those of a pair."""
        return [name for name in OF_PAIR if name in self.measures]
