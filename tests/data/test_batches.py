"""Training windows: each target once an epoch, and any step from its number alone."""

import numpy as np
import pytest

from tiedlm.config.base import ConfigError
from tiedlm.data.batches import IGNORED, Batches, ContiguousBatches, build_batches
from tiedlm.data.frequencies import unigram_nll


def numbered(num_tokens: int) -> np.ndarray:
    """Ids that say where they stand, so that each target can be told apart."""
    return np.arange(num_tokens + 1, dtype=np.uint16)


@pytest.mark.parametrize(
    ("num_tokens", "seq_len", "batch_size"), [(100, 10, 5), (101, 10, 5), (99, 10, 7), (64, 32, 1), (31, 8, 3)]
)
def test_each_epoch_has_every_target_exactly_once(num_tokens: int, seq_len: int, batch_size: int) -> None:
    batches = Batches(numbered(num_tokens), seq_len, batch_size, seed=0)
    assert batches.num_windows == -(-num_tokens // seq_len)
    rows = [row for step in range(2 * batches.num_windows) for row in batches.batch(step)[1]]
    for epoch in range(2):
        targets = np.concatenate(rows[epoch * batches.num_windows : (epoch + 1) * batches.num_windows])
        assert sorted(targets[targets != IGNORED].tolist()) == list(range(1, num_tokens + 1))


def test_each_target_is_the_token_after_its_id_and_the_last_window_is_padded() -> None:
    ids = numbered(103)
    batches = Batches(ids, seq_len=10, batch_size=11, seed=3)
    inputs, targets = batches.batch(0)
    assert inputs.shape == targets.shape == (11, 10) and inputs.dtype == targets.dtype == np.int64
    real = targets != IGNORED
    assert (targets[real] == inputs[real] + 1).all()
    assert sorted(real.sum(axis=1).tolist()) == [3, *[10] * 10]
    assert set(inputs[~real].tolist()) <= set(ids.tolist()), "padding is an id that the model knows"


def test_a_batch_depends_on_its_step_alone() -> None:
    ids = numbered(1000)
    straight = Batches(ids, 16, 6, seed=1)
    expected = [straight.batch(step) for step in range(40)]
    for step in (39, 0, 17, 10, 11):  # 63 windows an epoch: step 10 lies across two
        inputs, targets = Batches(ids, 16, 6, seed=1).batch(step)
        assert (inputs == expected[step][0]).all() and (targets == expected[step][1]).all()


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    def order(seed: int, epoch: int) -> list[int]:
        return Batches(numbered(640), 10, 64, seed).batch(epoch)[0][:, 0].tolist()  # type: ignore[no-any-return]

    orders = [order(0, 0), order(0, 1), order(1, 0)]
    assert len({tuple(found) for found in orders}) == 3
    assert all(sorted(found) == list(range(0, 640, 10)) for found in orders)


@pytest.mark.parametrize("num_steps", [0, 1, 3, 6, 25])
@pytest.mark.parametrize("batch_size", [1, 4, 7])
def test_counts_are_those_of_the_batches_one_by_one(num_steps: int, batch_size: int) -> None:
    """Repeated tokens, an end of text, a short last window; less than an epoch, whole ones and parts of one."""
    ids = np.random.default_rng(0).integers(0, 9, 104).astype(np.uint16)
    batches = Batches(ids, 10, batch_size, seed=5)
    targets, inputs = np.zeros(12, np.int64), np.zeros(12, np.int64)
    for step in range(num_steps):
        some_ids, some_targets = batches.batch(step)
        for index, target in zip(some_ids.ravel(), some_targets.ravel(), strict=True):
            if target != IGNORED:
                targets[target] += 1
                inputs[index] += 1
    counted = batches.counts(num_steps, 12)
    assert (counted[0] == targets).all() and (counted[1] == inputs).all()
    assert counted[0].dtype == np.int64


def test_counts_reach_across_what_is_counted_at_once() -> None:
    ids = np.random.default_rng(1).integers(0, 5, 10_001).astype(np.uint16)
    targets, inputs = Batches(ids, 2, 10_000, seed=0).counts(1, 5)  # two epochs of 5,000 windows
    assert (targets == 2 * np.bincount(ids[1:])).all() and (inputs == 2 * np.bincount(ids[:-1])).all()


def test_fewer_tokens_than_a_window_make_one_padded_window() -> None:
    batches = Batches(numbered(2), seq_len=8, batch_size=1, seed=0)
    inputs, targets = batches.batch(5)
    assert batches.num_windows == 1
    assert targets.tolist() == [[1, 2, *[IGNORED] * 6]]
    assert inputs[0, :2].tolist() == [0, 1]


@pytest.mark.parametrize("num_tokens", [0, 1])
def test_too_few_tokens_to_train_on_are_refused(num_tokens: int) -> None:
    with pytest.raises(ConfigError, match=f"needs 2 tokens at least to train on, it has {num_tokens}"):
        Batches(numbered(num_tokens), 8, 1, seed=0)


STREAMS = [(100, 10, 5), (101, 10, 5), (99, 10, 7), (64, 32, 1), (31, 8, 3), (5, 4, 4), (3, 8, 5)]


@pytest.mark.parametrize(("num_tokens", "seq_len", "batch_size"), STREAMS)
def test_contiguous_rows_are_the_text_in_as_many_streams_and_each_epoch_has_every_target_once(
    num_tokens: int, seq_len: int, batch_size: int
) -> None:
    batches = ContiguousBatches(numbered(num_tokens), seq_len, batch_size)
    steps = batches.num_windows // batch_size
    assert batches.num_windows % batch_size == 0
    for epoch in range(2):
        parts = [batches.batch(epoch * steps + step) for step in range(steps)]
        inputs, targets = (np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True))  # (B, S T)
        assert targets[targets != IGNORED].tolist() == list(range(1, num_tokens + 1)), "row after row it is the text"
        assert (inputs[targets != IGNORED] + 1 == targets[targets != IGNORED]).all()
        assert [batches.goes_on(epoch * steps + step) for step in range(steps)] == [False, *[True] * (steps - 1)]


@pytest.mark.parametrize(("num_tokens", "seq_len", "batch_size"), STREAMS)
def test_counts_of_contiguous_batches_are_those_one_by_one(num_tokens: int, seq_len: int, batch_size: int) -> None:
    ids = np.random.default_rng(0).integers(0, 9, num_tokens + 1).astype(np.uint16)
    batches = ContiguousBatches(ids, seq_len, batch_size)
    targets, inputs = np.zeros(12, np.int64), np.zeros(12, np.int64)
    for step in range(2 * batches.num_windows // batch_size + 2):
        counted = batches.counts(step, 12)
        assert (counted[0] == targets).all() and (counted[1] == inputs).all()
        some_ids, some_targets = batches.batch(step)
        targets += np.bincount(some_targets[some_targets != IGNORED], minlength=12)
        inputs += np.bincount(some_ids[some_targets != IGNORED], minlength=12)


def test_shuffled_windows_never_go_on_and_contiguous_ones_are_built_on_request() -> None:
    shuffled, contiguous = (build_batches(numbered(100), 10, 5, 0, contiguous=kind) for kind in (False, True))
    assert not any(shuffled.goes_on(step) for step in range(30)) and not shuffled.contiguous
    assert contiguous.contiguous and contiguous.batch(1)[0][:, 0].tolist() == [10, 30, 50, 70, 90]


def test_unigram_nll_is_the_sum_of_smoothed_log_frequencies() -> None:
    frequencies = np.array([5, 0, 2, 1])
    targets = np.array([0, 0, 1, 3, 2], np.uint16)
    expected = -sum(np.log((frequencies[target] + 1) / (8 + 4)) for target in targets)
    assert unigram_nll(targets, frequencies) == pytest.approx(expected, rel=1e-14)


def test_unigrams_without_any_count_score_as_uniform() -> None:
    assert unigram_nll(np.array([1, 2, 3]), np.zeros(7, np.int64)) == pytest.approx(3 * np.log(7), rel=1e-14)
