"""A scored split as it is stored: sums in the result, every token in a file of its own."""

from pathlib import Path
from typing import Any

import numpy as np

from tiedlm.data.config import Split
from tiedlm.data.frequencies import unigram_nll
from tiedlm.data.prepare import SplitTokens
from tiedlm.evaluation.frequency import GroupMass
from tiedlm.files import atomic_path
from tiedlm.run.result import SplitResult
from tiedlm.run.row_movement import row_movement
from tiedlm.run.setup import Setup
from tiedlm.run.token_types import BINS, TokenTypes
from tiedlm.training.trainer import Training

_PART = "a part of the split was scored, whose text was not counted"


def split_result(
    setup: Setup, split: Split, nll: np.ndarray, seq_len: int | None = None, stride: int | None = None
) -> SplitResult:
    """The sums of a split from the nats of its tokens (N,), or of the first of them."""
    tokens, settings = setup.data.split(split), setup.config.evaluation
    window = seq_len or settings.seq_len or setup.config.data.seq_len
    whole = len(nll) == tokens.num_tokens
    return SplitResult(
        nll=float(nll.sum(dtype=np.float64)),
        tokens=len(nll),
        words=tokens.words if whole and tokens.words_reason is None else None,
        words_reason=tokens.words_reason if whole else _PART,
        bytes=tokens.bytes if whole and tokens.bytes_reason is None else None,
        bytes_reason=tokens.bytes_reason if whole else _PART,
        rows=tokens.rows if whole else None,
        documents=int((tokens.document_starts < len(nll)).sum()),
        unigram_nll=unigram_nll(tokens.ids[1 : len(nll) + 1], setup.data.frequencies),
        seq_len=window,
        stride=stride or min(settings.stride or window, window),
        state_carried=setup.config.model.carries_state,
    )


def save_scores(path: Path, tokens: SplitTokens, nll: np.ndarray, mass: GroupMass | None = None) -> None:
    """Write per token its nats (fp32), its id and the index of its document; raises RunError("disk").

    With `mass` also, per document, the probability given to each of the bins (num_documents, num_bins) in float64.
    """
    length = len(nll)
    document = tokens.document_index()[:length]
    arrays: dict[str, Any] = {"nll": nll, "target": tokens.ids[1 : length + 1], "document": document}
    if mass is not None:
        arrays["mass"] = mass.sums
    with atomic_path(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **arrays)


def mass_by_bin(types: TokenTypes, tokens: SplitTokens) -> GroupMass:
    """Adds up, while a split is scored, what each bin of types is given."""
    return GroupMass(types.bins, len(BINS), tokens.document_index())


def describe_types(setup: Setup, training: Training) -> TokenTypes:
    """What training made of each token; once the peak of its memory has been read, which this might raise."""
    data = setup.data
    targets, inputs = training.batches.counts(training.progress.step, data.vocab_size)
    return TokenTypes(targets, inputs, data.end_of_text, row_movement(setup), data.shapes())
