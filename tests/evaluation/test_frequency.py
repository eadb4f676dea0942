"""The probability given to groups of tokens, added up by document."""

from functools import partial

import numpy as np
import pytest
import torch

from tests.support.scored_models import V, some_ids, tiny
from tiedlm.evaluation.frequency import GroupMass
from tiedlm.evaluation.perplexity import score_tokens

NUM_GROUPS = 3
GROUP = (np.arange(V) ** 2) % NUM_GROUPS % 2 + (np.arange(V) > 80)


def documents(num_tokens: int) -> np.ndarray:
    """Three of them, the second one short."""
    return np.searchsorted([num_tokens // 2, num_tokens // 2 + 3], np.arange(num_tokens), side="right")


@pytest.mark.parametrize(("num_tokens", "seq_len", "stride"), [(70, 32, 32), (70, 32, 8), (5, 32, 32), (33, 16, 5)])
def test_each_position_counts_once_with_the_context_that_scores_it(num_tokens: int, seq_len: int, stride: int) -> None:
    """Against full logits, position by position: the window, its padding and what was scored before it."""
    model, ids, document = tiny().eval(), some_ids(num_tokens), documents(num_tokens)
    mass = GroupMass(GROUP, NUM_GROUPS, document)
    score = partial(score_tokens, model, ids, seq_len=seq_len, stride=stride, batch_size=3)
    np.testing.assert_array_equal(score(mass=mass), score())
    expected = np.zeros((int(document.max()) + 1, NUM_GROUPS))
    for position in range(num_tokens):
        windows_before = 0 if position < seq_len else -(-(position + 1 - seq_len) // stride)
        context = torch.from_numpy(ids[windows_before * stride : position + 1].astype(np.int64)).unsqueeze(0)
        with torch.no_grad():
            probabilities = model.logits(context)[0, -1].double().softmax(-1).numpy()
        np.add.at(expected[document[position]], GROUP, probabilities)
    np.testing.assert_allclose(mass.sums, expected, rtol=1e-5)
    np.testing.assert_allclose(mass.sums.sum(1), np.bincount(document), rtol=1e-6)


def test_equal_scores_give_each_group_its_share_of_the_vocabulary() -> None:
    model = tiny()
    with torch.no_grad():
        next(model.tying.parameters()).zero_()
    mass = GroupMass(GROUP, NUM_GROUPS, np.zeros(50, np.int32))
    score_tokens(model, some_ids(50), seq_len=32, stride=32, batch_size=4, mass=mass)
    np.testing.assert_allclose(mass.sums[0] / 50, np.bincount(GROUP) / V, rtol=1e-6)


def test_a_text_of_no_tokens_has_no_documents() -> None:
    mass = GroupMass(GROUP, NUM_GROUPS, np.zeros(0, np.int32))
    score_tokens(tiny(), some_ids(0), seq_len=32, stride=32, batch_size=4, mass=mass)
    assert mass.sums.shape == (0, NUM_GROUPS)
