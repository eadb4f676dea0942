"""How well counting alone predicts a text."""

import numpy as np
import numpy.typing as npt

from tiedlm.data.tokenizer import Ids

_CHUNK = 1 << 22


def unigram_nll(targets: Ids, frequencies: npt.NDArray[np.int64]) -> float:
    """Sum of nll in nats of `targets` (N,) under the train split's `frequencies` (V,), one added to each.

    Each token costs -log((frequency + 1) / (sum of frequencies + V)).
    """
    vocab_size = len(frequencies)
    counts = np.zeros(vocab_size, np.int64)
    for begin in range(0, len(targets), _CHUNK):
        counts += np.bincount(targets[begin : begin + _CHUNK], minlength=vocab_size)
    total = float(frequencies.sum() + vocab_size)
    return float(np.sum(counts * (np.log(total) - np.log(frequencies + 1.0))))
