"""The scores of each token that a run left beside its result, read and held against that result. Free of torch."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tiedlm.run.result import RunResult
from tiedlm.run.token_types import VOCABULARY_FILE, TokenTypes

if TYPE_CHECKING:
    import numpy as np

ScoresOf = Callable[[RunResult, str], Path | None]
"""The file with a run's per-token scores of a split; None where it is not known."""
MetricsOf = Callable[[RunResult], Path]
"""The journal that a run kept of its steps."""


class UnusableScoresError(Exception):
    """A file of scores that is missing, cannot be read or is not of this result; the message is the reason."""


class TokenScores(NamedTuple):
    """Every token (N,) of a split: its id, its nll in nats, and the index of its document.

    `mass` (num_documents, num_bins) is the probability given to each bin of token types, summed over the tokens of each
    document; None where an older version did not store it.
    """

    target: "np.ndarray"
    nll: "np.ndarray"
    document: "np.ndarray"
    mass: "np.ndarray | None"


@contextmanager
def unusable_if_unreadable(what: str) -> Iterator[None]:
    """Raise UnusableScoresError, which says `what`, where the block fails to read a numpy archive."""
    import zipfile

    try:
        yield
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise UnusableScoresError(f"{what}, cannot be read ({type(error).__name__})") from None


def read_scores(run: RunResult, split: str, scores_of: ScoresOf | None) -> TokenScores:
    """What a run stored of a split's tokens; raises UnusableScoresError."""
    import numpy as np

    what = f"the scores of each token of {run.variant}, seed {run.seed}"
    path = scores_of(run, split) if scores_of else None
    if path is None or not path.is_file():
        raise UnusableScoresError(f"{what}, are not there")
    with unusable_if_unreadable(what), np.load(path) as stored:
        nll, target, document = stored["nll"].astype(np.float64), stored["target"], stored["document"]
        mass = stored.get("mass")
        np.bincount(document)  # raises where these are no documents
    result = run.splits[split]
    if len(nll) != result.tokens or not math.isclose(nll.sum(), result.nll, rel_tol=1e-6):
        raise UnusableScoresError(f"{what}, do not add up to its result")
    return TokenScores(target, nll, document, mass)


def read_types(run: RunResult, split: str, scores_of: ScoresOf | None) -> TokenTypes:
    """What a run stored of each type of its vocabulary, beside its scores; raises UnusableScoresError."""
    what = f"the counts of each type of {run.variant}, seed {run.seed}"
    scores = scores_of(run, split) if scores_of else None
    path = None if scores is None else scores.with_name(VOCABULARY_FILE)
    if path is None or not path.is_file():
        raise UnusableScoresError(f"{what}, are not there")
    with unusable_if_unreadable(what):
        return TokenTypes.load(path)
