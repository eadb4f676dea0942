"""Sentences on how much of the held-out text stands in the train split too, so that a model may have learned it."""

from collections.abc import Iterator

from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures import numbers
from tiedlm.run.result import SplitOverlap

_WORTH_A_NOTE = 0.02


def overlap_warnings(comparison: Comparison) -> Iterator[str]:
    """A sentence for each split of which more than 2 % of the documents or of the sampled 8-grams is in train."""
    for split, found in _found(comparison):
        shares = _share(found.documents_in_train, found.documents), _share(*_runs(found))
        if max(shares) > _WORTH_A_NOTE:
            yield f"Text of {split} that stands in train too: {_counted(found)}."


def overlap_notes(comparison: Comparison) -> Iterator[str]:
    """The same for every split, whatever its share; or that it was not measured."""
    found = list(_found(comparison))
    if comparison.corpus and not found:
        yield "Text of validation and test that stands in train too: not measured when these runs were trained."
    for split, overlap in found:
        yield f"{split} text that stands in train too: {_counted(overlap)}."


def _found(comparison: Comparison) -> list[tuple[str, SplitOverlap]]:
    overlap = comparison.corpus.overlap if comparison.corpus else None
    return [(split, overlap[split]) for split in ("test", "validation") if split in overlap] if overlap else []


def _counted(found: SplitOverlap) -> str:
    documents = f"{found.documents_in_train:,} of {found.documents:,} documents"
    same, sampled = _runs(found)
    if not sampled:
        return f"{documents}; none has 8 words in a row"
    share = numbers.share_percent(_share(same, sampled))
    return f"{documents}, {share} of {sampled:,} sampled 8-grams of words"


def _runs(found: SplitOverlap) -> tuple[int, int]:
    return found.sampled_8grams_in_train, found.sampled_8grams


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
