"""The scores of a run cut up into groups of tokens: by how often the target or the token before it was seen in
training, and by what the target is a piece of. Free of torch.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tiedlm.comparison.documents import ScoresOf, TokenScores, UnusableScoresError, read_scores
from tiedlm.run.result import RunResult
from tiedlm.run.token_types import BINS, VOCABULARY_FILE, TokenTypes

if TYPE_CHECKING:
    import numpy as np

By = Literal["target", "preceding", "kind"]


@dataclass(frozen=True)
class Grouped:
    """Nats and number of tokens by group and document, (G, K) each; equal fingerprints: the same tokens in each."""

    labels: tuple[str, ...]
    nll: "np.ndarray"
    num: "np.ndarray"
    fingerprint: str


@dataclass(frozen=True)
class CutUp:
    """One run. `by` lacks kinds where the tokenizer does not show them; `mass` (num_bins,) adds up to the tokens.

    `text` is a fingerprint of the tokens and their documents.
    """

    text: str
    by: Mapping[By, Grouped]
    mass: "np.ndarray"
    types: TokenTypes


def cut_up(run: RunResult, split: str, scores_of: ScoresOf) -> CutUp:
    """The scores that a run stored of a split; raises UnusableScoresError where they or its types are not there."""
    import numpy as np

    from tiedlm.data.kinds import KINDS, kinds_of

    scores, types = read_scores(run, split, scores_of), _read_types(run, split, scores_of)
    if scores.mass is None:
        what = f"the scores of each token of {run.variant}, seed {run.seed}"
        raise UnusableScoresError(f"{what}, lack the probability given to each bin")
    preceding = np.concatenate([[types.end_of_text], scores.target])[: len(scores.target)]
    by: dict[By, Grouped] = {
        "target": _grouped(scores, types.bins[scores.target], BINS),
        "preceding": _grouped(scores, types.bins[preceding], BINS),
    }
    if types.shapes is not None:
        by["kind"] = _grouped(scores, kinds_of(types.shapes, scores.target, preceding), KINDS)
    return CutUp(_fingerprint(scores.target, scores.document), by, scores.mass.sum(axis=0), types)


def _read_types(run: RunResult, split: str, scores_of: ScoresOf) -> TokenTypes:
    import zipfile

    beside, what = scores_of(run, split), f"the counts of each type of {run.variant}, seed {run.seed}"
    path = None if beside is None else beside.with_name(VOCABULARY_FILE)
    if path is None or not path.is_file():
        raise UnusableScoresError(f"{what}, are not there")
    try:
        return TokenTypes.load(path)
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise UnusableScoresError(f"{what}, cannot be read ({type(error).__name__})") from None


def _grouped(scores: TokenScores, group: "np.ndarray", labels: tuple[str, ...]) -> Grouped:
    """`group` (N,) is the index into `labels` of each token."""
    import numpy as np

    num_documents = int(scores.document.max(initial=-1)) + 1
    shape, cell = (len(labels), num_documents), group.astype(np.int64) * num_documents + scores.document
    size = len(labels) * num_documents
    return Grouped(
        labels=labels,
        nll=np.bincount(cell, weights=scores.nll, minlength=size).reshape(shape),
        num=np.bincount(cell, minlength=size).reshape(shape),
        fingerprint=_fingerprint(scores.target, scores.document, group),
    )


def _fingerprint(*arrays: "np.ndarray") -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(array.astype("<i8").tobytes())
    return digest.hexdigest()
