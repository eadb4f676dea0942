"""Every token scored once, whatever the windows; sums before quotients."""

import math

import numpy as np
import pytest
import torch

from tests.support.scored_models import V, some_ids, tiny
from tiedlm.evaluation.measures import perplexity
from tiedlm.evaluation.perplexity import score_tokens
from tiedlm.model.language_model import LanguageModel


def one_by_one(model: LanguageModel, ids: np.ndarray, seq_len: int, stride: int) -> np.ndarray:
    """The slow way: for each token its window's context, alone through the model in full logits."""
    scores = np.zeros(len(ids) - 1)
    for position in range(len(ids) - 1):
        start = 0 if position < seq_len else stride * math.ceil((position + 1 - seq_len) / stride)
        context = torch.from_numpy(ids[start : position + 1].astype(np.int64)).unsqueeze(0)
        logits = model.logits(context)[0, -1].double()
        scores[position] = -logits.log_softmax(-1)[int(ids[position + 1])]
    return scores


@pytest.mark.parametrize(
    ("num_tokens", "seq_len", "stride"), [(70, 32, 32), (70, 32, 8), (64, 32, 32), (5, 32, 32), (33, 16, 5)]
)
def test_each_token_is_scored_by_the_first_window_that_holds_it(num_tokens: int, seq_len: int, stride: int) -> None:
    model, ids = tiny().eval(), some_ids(num_tokens)
    ours = score_tokens(model, ids, seq_len=seq_len, stride=stride, batch_size=3)
    with torch.no_grad():
        np.testing.assert_allclose(ours, one_by_one(model, ids, seq_len, stride), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("stride", [1, 7, 32])
def test_p01_equal_logits_score_exactly_v_at_every_stride(stride: int) -> None:
    model = tiny()
    with torch.no_grad():
        next(model.tying.parameters()).zero_()
    nll = score_tokens(model, some_ids(50), seq_len=32, stride=stride, batch_size=4)
    assert len(nll) == 50
    assert perplexity(float(nll.sum(dtype=np.float64)), len(nll)) == pytest.approx(V, rel=1e-6)


def test_p01_perplexity_comes_from_sums_and_not_from_window_means() -> None:
    nll = np.repeat(np.array([2.0, 3.0, 8.0], dtype=np.float32), [1023, 512, 7])
    assert perplexity(float(nll.sum(dtype=np.float64)), len(nll)) == pytest.approx(10.583, abs=5e-4)


@pytest.mark.parametrize("num_tokens", [31, 95, 100])
def test_p03_batches_of_one_and_of_eight_score_alike(num_tokens: int) -> None:
    """The last window is shorter than the others and padded; padding is never scored, though id 0 is a real token."""
    model, ids = tiny(), some_ids(num_tokens)
    ids[-3:] = 0
    single = score_tokens(model, ids, seq_len=32, stride=32, batch_size=1)
    many = score_tokens(model, ids, seq_len=32, stride=32, batch_size=8)
    assert len(single) == len(many) == num_tokens
    np.testing.assert_allclose(many, single, rtol=1e-5, atol=1e-6)


def test_p07_half_precision_scores_are_summed_in_float64() -> None:
    nll = np.full(7000, 11.0, dtype=np.float32)
    assert float(nll.sum(dtype=np.float64)) == 77_000


def test_p07_fp32_and_bf16_agree_within_one_per_cent() -> None:
    model, ids = tiny(), some_ids(300)
    full = score_tokens(model, ids, seq_len=32, stride=32, batch_size=4).sum(dtype=np.float64)
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        half = score_tokens(model, ids, seq_len=32, stride=32, batch_size=4).sum(dtype=np.float64)
    assert math.isfinite(half)
    assert math.exp((half - full) / 300) == pytest.approx(1, rel=0.01)


def test_scoring_leaves_mode_and_random_state_alone_and_ignores_dropout() -> None:
    model, ids = tiny(dropout=0.5).train(), some_ids(64)
    state = torch.get_rng_state()
    once = score_tokens(model, ids, seq_len=32, stride=32, batch_size=2)
    assert model.training and torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(once, score_tokens(model, ids, seq_len=32, stride=32, batch_size=2))
