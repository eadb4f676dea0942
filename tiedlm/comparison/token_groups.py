"""The token scores of a run by groups of tokens, and the differences of pairs of runs in each group. Free of torch.

Groups are by how often the target, or the token before it, was a target in training, and by the kind of text that the
target is a piece of.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from tiedlm.comparison.bootstrap import bootstrap_ratios
from tiedlm.comparison.statistics import Interval, mean
from tiedlm.comparison.stored_scores import ScoresOf, TokenScores, UnusableScoresError, read_scores, read_types
from tiedlm.run.result import RunResult
from tiedlm.run.token_types import BINS, TokenTypes

if TYPE_CHECKING:
    import numpy as np

By = Literal["target", "preceding", "kind"]


class Grouped(NamedTuple):
    """Nats and number of tokens by group and document, (G, K) each; equal fingerprints: the same tokens in each."""

    labels: tuple[str, ...]
    nll: "np.ndarray"
    num: "np.ndarray"
    fingerprint: str

    def num_tokens(self, group: int) -> int:
        """In one group."""
        return int(self.num[group].sum())

    @property
    def num_all_tokens(self) -> int:
        """In all groups."""
        return int(self.num.sum())


class GroupedScores(NamedTuple):
    """One run. `by` lacks kinds where the tokenizer does not show them; `mass` (num_bins,) adds up to the tokens.

    `text` is a fingerprint of the tokens and their documents.
    """

    text: str
    by: Mapping[By, Grouped]
    mass: "np.ndarray"
    types: TokenTypes


class GroupDifference(NamedTuple):
    """One group of tokens over pairs of runs: `per_pair` is nats per token of the first run minus the second.

    `pairs` are the places of the pairs that have such a token. `ci95_text` is the bootstrap interval over documents
    with the pairs taken together; null where fewer documents than asked for hold such a token.
    """

    pairs: list[int]
    per_pair: list[float]
    num_documents: int
    ci95_text: Interval | None


def group_scores(run: RunResult, split: str, scores_of: ScoresOf | None) -> GroupedScores:
    """The scores that a run stored of a split; raises UnusableScoresError where they or its types are not there."""
    import numpy as np

    from tiedlm.data.kinds import KINDS, kinds_of

    scores, types = read_scores(run, split, scores_of), read_types(run, split, scores_of)
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
    return GroupedScores(_fingerprint(scores.target, scores.document), by, scores.mass.sum(axis=0), types)


def group_differences(pairs: Sequence[tuple[Grouped, Grouped]], fewest_documents: int) -> Iterator[GroupDifference]:
    """For each group of pairs of runs that have the same tokens in it."""
    import numpy as np

    nll = np.stack([one.nll - other.nll for one, other in pairs])  # (S, G, K)
    num = np.stack([one.num for one, _ in pairs])
    documents = (num > 0).any(axis=0).sum(axis=1)  # (G,)
    enough = documents >= fewest_documents
    intervals = iter(bootstrap_ratios(nll.mean(axis=0)[enough], num.mean(axis=0)[enough]) if enough.any() else [])
    for group, num_documents in enumerate(documents.tolist()):
        holding = [place for place in range(len(pairs)) if num[place, group].any()]
        yield GroupDifference(
            pairs=holding,
            per_pair=[float(nll[place, group].sum() / num[place, group].sum()) for place in holding],
            num_documents=num_documents,
            ci95_text=next(intervals) if enough[group] else None,
        )


def mean_movement(runs: Sequence[GroupedScores], side: str, index: int) -> float | None:
    """|end - start| / |start| of the rows of one side, mean over those of a bin and then over runs.

    Bins are of how often a row was seen. None where there is no such row, or the movement of one is not known.
    """
    import numpy as np

    rows = [run.types.moved[side][run.types.bins_seen == index] for run in runs]
    means = [float(moved.mean(dtype=np.float64)) for moved in rows if len(moved)]
    return mean(means) if means and not any(map(np.isnan, means)) else None


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
