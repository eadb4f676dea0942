"""What flag and bytes come to, as one word. Free of torch."""

from typing import Literal

from tiedlm.checkpoints.compare_bytes import Comparison
from tiedlm.checkpoints.matrix_names import StoredPair

Verdict = Literal[
    "tied",
    "tied_stored_twice",
    "conflict",
    "untied",
    "untied_equal",
    "head_missing",
    "class_default",
    "composite",
    "unknown",
]

IN_WORDS: dict[Verdict, str] = {
    "tied": "tied",
    "tied_stored_twice": "tied, stored twice",
    "conflict": "conflict",
    "untied": "untied",
    "untied_equal": "untied, equal values",
    "head_missing": "head missing",
    "class_default": "by class default",
    "composite": "composite config",
    "unknown": "unknown",
}


def judge(flag: bool, pair: StoredPair, comparison: Comparison | None) -> Verdict:
    """The verdict for a flag that is plainly there; `comparison` is that of the two matrices where both are stored."""
    if pair.input is None and pair.output is None:
        return "unknown"
    if pair.input is None or pair.output is None:
        return "tied" if flag else "head_missing"
    assert comparison is not None
    if not comparison.may_be_equal:
        return "conflict" if flag else "untied"
    if not flag:
        return "untied_equal"
    return "tied" if is_one_memory(pair) else "tied_stored_twice"


def is_one_memory(pair: StoredPair) -> bool:
    """Whether the file keeps both as one and the same memory."""
    both = pair.input is not None and pair.output is not None
    return both and pair.input.storage != "" and pair.input.storage == pair.output.storage  # type: ignore[union-attr]
