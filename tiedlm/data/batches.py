"""Training windows, addressed by a global step."""

import functools

import numpy as np
import numpy.typing as npt

from tiedlm.config.base import ConfigError, Problem
from tiedlm.data.tokenizer import Ids
from tiedlm.streams import stream_seed

Int64 = npt.NDArray[np.int64]
IGNORED = -100
"""The target where there is none, which is not scored."""
_WINDOWS_AT_ONCE = 4096
_TOKENS_AT_ONCE = 1 << 20


class Batches:
    """Training windows, addressed by a global step: a pure function of (ids, seq_len, batch_size, seed).

    `ids` (N + 1,) hold N targets, each ids[1:]. Window w has the targets w*T+1 .. w*T+T and the ids one before them.
    The endless sequence of windows is one epoch after another, each epoch all windows in an order of its own.
    """

    contiguous = False

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

    def goes_on(self, step: int) -> bool:
        """Whether each row of the batch of `step` goes on where the same row of the step before it ended."""
        return False

    def batch(self, step: int) -> tuple[Int64, Int64]:
        """Ids and targets (B, T) of one step, counted from 0; targets after the last token are -100."""
        ids, targets = self._empty()
        for row in range(self._batch_size):
            epoch, place = divmod(step * self._batch_size + row, self.num_windows)
            begin = int(self._order(epoch)[place]) * self._seq_len
            _fill(ids[row], targets[row], self._ids[begin : begin + self._seq_len + 1])  # shorter at the very end
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

    def _empty(self) -> tuple[Int64, Int64]:
        """Ids and targets (B, T) of nothing but padding."""
        shape = self._batch_size, self._seq_len
        return np.full(shape, int(self._ids[0]), np.int64), np.full(shape, IGNORED, np.int64)

    def _shuffled(self, epoch: int) -> Int64:
        generator = np.random.Generator(np.random.PCG64(stream_seed(self._seed, "data", epoch)))
        return generator.permutation(self.num_windows)


class ContiguousBatches(Batches):
    """The text cut into as many streams as a batch has rows, each read from its beginning, window after window.

    Stream b has the targets b*L+1 .. b*L+L, where L is N / B rounded up: the last streams may be shorter, and the last
    window of an epoch, so that every target comes once an epoch. All epochs and seeds have the same order.
    """

    contiguous = True

    def __init__(self, ids: Ids, seq_len: int, batch_size: int, seed: int = 0) -> None:
        super().__init__(ids, seq_len, batch_size, seed)
        num_tokens = len(ids) - 1
        length = -(-num_tokens // batch_size)
        begins = np.minimum(np.arange(batch_size + 1) * length, num_tokens)
        self._begins, self._ends = begins[:-1], begins[1:]
        self._steps_an_epoch = -(-length // seq_len)
        self.num_windows = self._steps_an_epoch * batch_size

    def goes_on(self, step: int) -> bool:
        return step % self._steps_an_epoch > 0

    def batch(self, step: int) -> tuple[Int64, Int64]:
        ids, targets = self._empty()
        offset = step % self._steps_an_epoch * self._seq_len
        for row, (begin, end) in enumerate(zip(np.minimum(self._begins + offset, self._ends), self._ends, strict=True)):
            _fill(ids[row], targets[row], self._ids[begin : min(begin + self._seq_len, end) + 1])
        return ids, targets

    def counts(self, num_steps: int, vocab_size: int) -> tuple[Int64, Int64]:
        epochs, rest = divmod(num_steps, self._steps_an_epoch)
        targets, inputs = np.zeros(vocab_size, np.int64), np.zeros(vocab_size, np.int64)
        for begin, end in zip(self._begins, self._ends, strict=True):
            for times, stop in ((epochs, end), (1, min(begin + rest * self._seq_len, end))):
                for first in range(begin, stop, _TOKENS_AT_ONCE):
                    ids = self._ids[first : min(first + _TOKENS_AT_ONCE, stop) + 1]
                    targets += times * np.bincount(ids[1:], minlength=vocab_size)
                    inputs += times * np.bincount(ids[:-1], minlength=vocab_size)
        return targets, inputs


def build_batches(ids: Ids, seq_len: int, batch_size: int, seed: int, *, contiguous: bool) -> Batches:
    """Shuffled windows, or contiguous ones for a model that carries its state from each to the next."""
    kind = ContiguousBatches if contiguous else Batches
    return kind(ids, seq_len, batch_size, seed)


def _fill(ids: Int64, targets: Int64, window: Ids) -> None:
    """Put the ids of a window and of one token more into a row (T,) of inputs and of targets."""
    ids[: len(window) - 1] = window[:-1]
    targets[: len(window) - 1] = window[1:]
