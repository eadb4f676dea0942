"""What is asked of an analysis. Free of torch."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tiedlm.embeddings.schema import MEASURES

if TYPE_CHECKING:
    from tiedlm.embeddings.word_pairs import WordPair

OF_MATRIX = ("isotropy", "rank", "frequency", "neighbours", "distance")
"""The measures of one matrix; `neighbours` is its hubness."""
OF_PAIR = ("alignment", "cka", "neighbours", "symmetry")
"""Those of a pair."""
WORD_PAIRS = "word_pairs"
"""The measure of one matrix that needs a file."""


@dataclass(frozen=True)
class Asked:
    """Which of MEASURES to take, whether also by frequency, and how many queries for neighbours (None: all).

    Where there are `word_pairs`, agreement with them is measured too.
    """

    measures: frozenset[str] = frozenset(MEASURES)
    by_frequency: bool = False
    num_queries: int | None = None
    word_pairs: "tuple[WordPair, ...]" = ()

    def of_matrix(self) -> list[str]:
        """The measures of one matrix that are asked for."""
        named = [name for name in OF_MATRIX if name in self.measures]
        return [*named, WORD_PAIRS] if self.word_pairs else named

    def of_pair(self) -> list[str]:
        """Those of a pair."""
        return [name for name in OF_PAIR if name in self.measures]
