"""What loaders make of a flag and what is stored. Free of torch.

transformers 4.57.6 and 5.24.0: by opening such checkpoints (scripts/check_audit does it with an installed version).
vLLM: its pull request 51665. llama.cpp: it makes the head of token_embd.weight where output.weight is missing.
"""

from tiedlm.checkpoints.compare_bytes import Comparison
from tiedlm.checkpoints.matrix_names import StoredPair

_RANDOM = "draws both at random, with a warning"
_VLLM = "vLLM since August 2026"


def in_transformers(version: int, flag: bool | None, pair: StoredPair, comparison: Comparison | None) -> str:
    """What a version of transformers does, in a few words; `flag` as that version takes it."""
    if flag is None:
        return "does not know this family"
    if pair.input is None and pair.output is None:
        return _RANDOM
    if pair.output is None:
        return "tied to the stored input embedding" if flag else "draws the head at random, with a warning"
    if pair.input is None:
        if not flag:
            return "draws the input embedding at random, with a warning"
        return (
            "tied to the stored head" if version >= 5 else "opens with no values for either (4.57): the first use fails"
        )
    if not flag:
        return "two matrices"
    assert comparison is not None
    if comparison.may_be_equal:
        return "tied"
    if version >= 5:
        return "two matrices as stored, with a warning"
    return "tied to the input embedding: the stored head is thrown away"


def in_others(flag: bool, pair: StoredPair, comparison: Comparison | None) -> str:
    """What inference engines do."""
    if pair.input is None and pair.output is None:
        return "refuse it"
    if pair.output is None:
        return "tied" if flag else f"{_VLLM} ties them, before that it refused or had a random head; llama.cpp ties"
    if pair.input is None:
        return "most refuse it: they look for the input embedding"
    if flag and not (comparison and comparison.may_be_equal):
        return f"{_VLLM} has two matrices, before that it threw the stored head away"
    return "tied, or two equal matrices" if flag else "two matrices"
