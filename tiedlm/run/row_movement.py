"""How far training moved the rows of the two embeddings from where they started.

The row of a token that is not in the batch has no gradient in a matrix that is only looked up in. It may move all the
same: by weight decay, and by the momentum of earlier steps.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from tiedlm.initialization import initialize
from tiedlm.run.config import RunConfig
from tiedlm.run.setup import Setup
from tiedlm.tying.base import Tying
from tiedlm.tying.build import build_tying

_ROWS_AT_ONCE = 4096


def row_movement(setup: Setup) -> dict[str, np.ndarray]:
    """|end - start| / |start| of every row on the "input" and on the "output" side, (V,) each; NaN from a start of 0.

    Input rows are the embedded ids, output rows those of the output embedding, whatever parameters a strategy makes
    them of; without the dropout and the noise of training. The starting values are drawn again, on the CPU.
    """
    data, end = setup.data, setup.model.tying
    start = starting_tying(setup.config, data.vocab_size, torch.from_numpy(data.frequencies))
    was_training = end.training
    for tying in (start, end):
        tying.eval()
    moved = {
        "input": _moved(_input_rows(start), _input_rows(end), data.vocab_size),
        "output": _moved(_output_rows(start), _output_rows(end), data.vocab_size),
    }
    end.train(was_training)
    return moved


def starting_tying(config: RunConfig, vocab_size: int, token_frequencies: Tensor | None) -> Tying:
    """The embeddings of a run before its first step, drawn again from its seed; frequencies (V,) as `build_tying`."""
    start = build_tying(config.model.tying, vocab_size, config.model.dim, token_frequencies)
    initialize(nn.ModuleDict({"tying": start}), config.seed, "tying", config.embedding_draw)
    return start


Rows = Callable[[slice], Tensor]


@torch.no_grad()
def _input_rows(tying: Tying) -> Rows:
    device = next(tying.parameters()).device
    return lambda rows: tying.embed(torch.arange(rows.start, rows.stop, device=device).unsqueeze(0))[0]


@torch.no_grad()
def _output_rows(tying: Tying) -> Rows:
    weight = tying.output_weight()
    return lambda rows: weight[rows]


@torch.no_grad()
def _moved(start: Rows, end: Rows, vocab_size: int) -> np.ndarray:
    moved = np.empty(vocab_size)
    for first in range(0, vocab_size, _ROWS_AT_ONCE):
        rows = slice(first, min(first + _ROWS_AT_ONCE, vocab_size))
        before, after = start(rows).double(), end(rows).to("cpu", torch.float64)
        length = before.norm(dim=1)
        moved[rows] = torch.where(length > 0, (after - before).norm(dim=1) / length, torch.nan).numpy()
    return moved
