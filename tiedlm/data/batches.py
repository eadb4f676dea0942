"""Training windows, addressed by a global step."""

import functools

import numpy as np
import numpy.typing as npt

from tiedlm.config import ConfigError, Problem
from tiedlm.data.tokenizer import Ids
from tiedlm.streams import stream_seed

Int64 = npt.NDArray[np.int64]
IGNORED = -100
"""The target where there is none."""
_WINDOWS_AT_ONCE = 4096


class Batches:
    """Training windows, addressed by a global step: a pure function of (ids, seq_len, batch_size, seed).

    `ids` (N + 1,) hold N targets, each ids[1:]. Window w has the targets w*T+1 .. w*T+T and the ids one before them.
    The endless sequence of windows is one epoch after another, each epoch all windows in an order of its own.
    """

    def __init__(self, ids: Ids, seq_len: int, batch_size: int, seed: int) -> None:
        num_tokens = len(ids) - 1
        if num_tokens < 2:
            message = f"the train split needs 2 tokens at least to train on, it has {max(num_tokens, 0)}"
            raise ConfigError(Problem("data.corpus", message))
        self._ids = ids
        self._seq_len = seq_len
        self._batch_size = batch_size
        self._seed = seed
        self.num_windows = -(-num_tokens // seq_len)
        self._order = functools.lru_cache(maxsize=2)(self._shuffled)  # a batch may lie across two epochs

    def batch(self, step: int) -> tuple[Int64, Int64]:
        """Ids and targets (B, T) of one step, counted from 0; targets after the last token are -100."""
        ids = np.full((self._batch_size, self._seq_len), int(self._ids[0]), np.int64)
        targets = np.full((self._batch_size, self._seq_len), IGNORED, np.int64)
        for row in range(self._batch_size):
            epoch, place = divmod(step * self._batch_size + row, self.num_windows)
            begin = int(self._order(epoch)[place]) * self._seq_len
            window = self._ids[begin : begin + self._seq_len + 1]  # (T + 1,), shorter at the very end
            ids[row, : len(window) - 1] = window[:-1]
            targets[row, : len(window) - 1] = window[1:]
        return ids, targets

    def counts(self, num_steps: int, vocab_size: int) -> tuple[Int64, Int64]:
        """How often each id was a target, and how often an input with a target, in the first `num_steps`: both (V,)."""
        epochs, rest = divmod(num_steps * self._batch_size, self.num_windows)
        times = np.full(self.num_windows, epochs, np.int64)
        times[self._order(epochs)[:rest]] += 1
        targets, inputs = np.zeros(vocab_size, np.int64), np.zeros(vocab_size, np.int64)
        for first in range(0, self.num_windows, _WINDOWS_AT_ONCE):
            some = times[first : first + _WINDOWS_AT_ONCE]
            begin = first * self._seq_len
            ids = self._ids[begin : begin + len(some) * self._seq_len + 1]
            weights = np.repeat(some, self._seq_len)[: len(ids) - 1]
            targets += np.bincount(ids[1:], weights, vocab_size).astype(np.int64)  # exact: whole and far below 2^53
            inputs += np.bincount(ids[:-1], weights, vocab_size).astype(np.int64)
        return targets, inputs

    def _shuffled(self, epoch: int) -> Int64:
        generator = np.random.Generator(np.random.PCG64(stream_seed(self._seed, "data", epoch)))
        return generator.permutation(self.num_windows)
