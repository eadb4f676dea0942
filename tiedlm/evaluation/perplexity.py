"""Every token of a split scored exactly once."""

from collections.abc import Iterator

import numpy as np
import torch

from tiedlm.evaluation.frequency import GroupMass, Window
from tiedlm.kernels.nll import IGNORED
from tiedlm.model.language_model import LanguageModel
from tiedlm.model.state import State
from tiedlm.talk import Update


def score_tokens(
    model: LanguageModel,
    ids: np.ndarray,
    *,
    seq_len: int,
    stride: int,
    batch_size: int,
    carry_state: bool = False,
    mass: GroupMass | None = None,
    update: Update = lambda done, words: None,
) -> np.ndarray:
    """Negative log-likelihood in nats of every id but the first, (N,) fp32 for `ids` (N + 1,).

    Windows of `seq_len` start every `stride` tokens (1 <= stride <= seq_len); a token is scored by the first window
    that holds it, so with a context of at least `seq_len - stride` tokens after the first window. The last window may
    be shorter. Context runs across documents. With `carry_state` the text is read as one sequence, each window from
    the state in which the one before it ended, so that their length changes nothing.

    Autocast applies to the body; logits and softmax are fp32. The probability that each position gives to the groups of
    `mass` is added to it. The model's mode is restored afterwards, and no random stream is touched.
    """
    num_tokens = len(ids) - 1
    scores = np.empty(num_tokens, dtype=np.float32)
    device, was_training = next(model.parameters()).device, model.training
    model.eval()
    state = None
    if carry_state:  # a batch of windows becomes one long window, since each depends on the one before it
        seq_len = stride = seq_len * batch_size
        batch_size, state = 1, State()
    windows = list(_windows(num_tokens, seq_len, stride))
    for first in range(0, len(windows), batch_size):
        batch = windows[first : first + batch_size]
        inputs, targets = (torch.from_numpy(array).to(device) for array in _padded(ids, batch, seq_len))
        nll = mass.score(model, inputs, targets, batch, state) if mass else model.token_nll(inputs, targets, state)
        rows = nll.cpu().numpy()
        for row, (start, scored_from, end) in enumerate(batch):
            scores[scored_from:end] = rows[row, scored_from - start : end - start]
        update(batch[-1][2], "tokens scored")
    model.train(was_training)
    return scores


def _windows(num_tokens: int, seq_len: int, stride: int) -> Iterator[Window]:
    """(start, first position to score, end) of each window, over positions 0 .. num_tokens - 1."""
    scored = 0
    for start in range(0, num_tokens, stride):
        end = min(start + seq_len, num_tokens)
        if end > scored:
            yield start, scored, end
            scored = end


def _padded(ids: np.ndarray, windows: list[Window], seq_len: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets (B, T); what is padding or was scored before has the target IGNORED."""
    longest = min(seq_len, max(end - start for start, _, end in windows))
    inputs = np.zeros((len(windows), longest), dtype=np.int64)
    targets = np.full((len(windows), longest), IGNORED, dtype=np.int64)
    for row, (start, scored_from, end) in enumerate(windows):
        inputs[row, : end - start] = ids[start:end]
        targets[row, scored_from - start : end - start] = ids[scored_from + 1 : end + 1]
    return inputs, targets
