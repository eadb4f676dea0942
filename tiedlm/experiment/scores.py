"""A scored split as it is stored: sums in the result, every token in a file of its own."""

from pathlib import Path

import numpy as np

from tiedlm.data.config import Split
from tiedlm.data.frequencies import unigram_nll
from tiedlm.data.prepare import SplitTokens
from tiedlm.experiment.results import SplitResult
from tiedlm.experiment.setup import Setup
from tiedlm.files import atomic_path

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
    )


def save_scores(path: Path, tokens: SplitTokens, nll: np.ndarray) -> None:
    """Write per token its nats (fp32), its id and the index of its document; raises RunError("disk")."""
    length = len(nll)
    with atomic_path(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, nll=nll, target=tokens.ids[1 : length + 1], document=tokens.document_index()[:length])
