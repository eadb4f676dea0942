"""Two matrices that become one in the middle of a run, and one that becomes two."""

from typing import Any

import pytest
import torch
from torch import nn

from tests.support.tying_runs import TIED, UNTIED, D, T, V, assert_same_function, losses, shape, state, tiny_training
from tiedlm.config.base import parse
from tiedlm.data.config import DataConfig
from tiedlm.model.language_model import build_model
from tiedlm.run import micro_batch
from tiedlm.run.config import RunConfig
from tiedlm.training.config import TrainingConfig
from tiedlm.training.record import StepRecord
from tiedlm.training.trainer import Trainer
from tiedlm.tying.progressive import Progressive

TIE: dict[str, Any] = {"type": "progressive", "penalty_from": 0.2, "switch_at": 0.5}
BARE: dict[str, Any] = {"type": "progressive", "penalty_from": 0.5, "switch_at": 0.5}
UNTIE: dict[str, Any] = {"type": "progressive", "direction": "untie", "switch_at": 0.5}
SWITCH = 5
"""The step of ten that half of the run comes before."""


def matrices(training: Trainer) -> tuple[nn.Parameter, nn.Parameter]:
    tying = training.model.tying
    assert isinstance(tying, Progressive)
    return tying.input_embedding, tying.output_embedding


def loss_of_next_batch(training: Trainer) -> float:
    """Without the penalty, and without taking a step."""
    ids, targets = (torch.from_numpy(array) for array in training.batches.batch(training.progress.step))
    with torch.no_grad():
        return float(training.model.nll(ids, targets)) / targets.numel()


def test_until_it_ties_it_is_untied_to_the_last_bit() -> None:
    progressive, untied = tiny_training(BARE), tiny_training(UNTIED)
    assert losses(progressive, SWITCH) == losses(untied, SWITCH)
    assert_same_function(progressive.model, untied.model)
    assert progressive.advance().loss != untied.advance().loss


def test_the_penalty_counts_from_its_beginning_to_the_switch() -> None:
    training, without = tiny_training(TIE), tiny_training(BARE)
    for step in range(8):
        tying = training.model.tying
        before = loss_of_next_batch(training)
        loss, plain = training.advance().loss, without.advance().loss
        penalty = tying.penalty()
        assert (penalty is not None) == (2 <= step < SWITCH)
        assert (loss == plain) == (step < 2)
        if penalty is not None:
            assert loss > before + 0.01


def test_it_ties_by_the_mean_of_both() -> None:
    training = tiny_training(TIE)
    losses(training, SWITCH)
    one, other = (matrix.detach().clone() for matrix in matrices(training))
    training.model.tying.set_progress(0.5)
    mean, left = matrices(training)
    torch.testing.assert_close(mean.detach(), (one + other) / 2)
    assert torch.equal(left, other)
    assert torch.equal(training.model.tying.output_weight(), mean)
    assert torch.equal(training.model.tying.embed(torch.arange(V)[None])[0], mean)


def test_the_jump_of_the_loss_is_as_small_as_the_matrices_are_near() -> None:
    """No jump where they are equal; with a strong penalty before, less than without one."""
    jumps = []
    for tying in (BARE, {**TIE, "strength": 3.0, "penalty_from": 0.0}):
        training = tiny_training(tying, num_steps=60)
        losses(training, 30)
        before = loss_of_next_batch(training)
        training.model.tying.set_progress(0.5)
        jumps.append(abs(loss_of_next_batch(training) - before))
    assert jumps[1] < jumps[0] / 3
    equal = tiny_training({**TIE, "penalty_from": 0.0, "switch_at": 0.0, "output_init": "copy"})
    before = loss_of_next_batch(equal)
    equal.model.tying.set_progress(0.0)
    assert loss_of_next_batch(equal) == before


def test_the_tied_matrix_goes_on_with_the_moments_of_the_output() -> None:
    """Press & Wolf (2017): a tied embedding evolves like the output embedding, whose gradients are the larger."""
    training = tiny_training(TIE)
    losses(training, SWITCH)
    shared, left = matrices(training)
    moments = {name: value.clone() for name, value in training.optimizer.state[left].items()}
    assert moments["exp_avg_sq"].sum() > 2 * training.optimizer.state[shared]["exp_avg_sq"].sum()
    training.advance()
    assert shared.grad is not None
    torch.testing.assert_close(
        training.optimizer.state[shared]["exp_avg"], 0.9 * moments["exp_avg"] + 0.1 * shared.grad
    )


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_what_is_left_over_neither_decays_nor_drifts(optimizer: str) -> None:
    """Momentum is there and decay is asked for: both would move a matrix that is merely not read."""
    training = tiny_training(TIE, optimizer=optimizer, embedding_weight_decay=0.5)
    losses(training, SWITCH)
    _, left = matrices(training)
    before, moments = left.detach().clone(), dict(training.optimizer.state[left])
    kept = {name: value.clone() for name, value in moments.items() if isinstance(value, torch.Tensor)}
    assert kept and any(value.any() for value in kept.values())
    losses(training, 3)
    assert torch.equal(left, before) and left.grad is None
    assert all(torch.equal(training.optimizer.state[left][name], value) for name, value in kept.items())


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_what_waits_has_neither_moments_nor_decay(optimizer: str) -> None:
    training = tiny_training(UNTIE, optimizer=optimizer, embedding_weight_decay=0.5)
    _, waiting = matrices(training)
    before = waiting.detach().clone()
    losses(training, SWITCH)
    assert torch.equal(waiting, before) and not training.optimizer.state.get(waiting)


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_late_untie_is_tied_up_to_and_with_the_first_loss_of_two_matrices(optimizer: str) -> None:
    late, tied = tiny_training(UNTIE, optimizer=optimizer), tiny_training(TIED, optimizer=optimizer)
    assert losses(late, SWITCH) == losses(tied, SWITCH)
    assert_same_function(late.model, tied.model)
    assert late.advance().loss == tied.advance().loss, "equal matrices are one function"
    one, other = matrices(late)
    assert not torch.equal(one, other)
    assert late.advance().loss != tied.advance().loss


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_late_untie_goes_on_with_the_optimizer_state_of_the_one_matrix(optimizer: str) -> None:
    """The first step of two matrices, by hand: two copies of the tied one, with its state, each with its gradient."""
    late = tiny_training(UNTIE, optimizer=optimizer, max_grad_norm=None, embedding_weight_decay=0.1)
    losses(late, SWITCH)
    shared, _ = matrices(late)
    values, moments = shared.detach().clone(), {**late.optimizer.state[shared]}
    moments = {name: value.clone() for name, value in moments.items() if isinstance(value, torch.Tensor)}
    rate = late.advance().learning_rate
    for matrix in matrices(late):
        copied = nn.Parameter(values.clone())
        copied.grad = matrix.grad
        settings: dict[str, Any] = {"betas": (0.9, 0.95)} if optimizer == "adamw" else {"momentum": 0.9}
        kind: Any = torch.optim.AdamW if optimizer == "adamw" else torch.optim.SGD
        update = kind([copied], lr=rate, weight_decay=0.1, **settings)
        update.state[copied] = {name: value.clone() for name, value in moments.items()}
        update.step()
        torch.testing.assert_close(matrix.detach(), copied.detach(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("tying", [TIE, UNTIE], ids=["tie", "untie"])
def test_a_model_in_another_stage_than_it_was_saved_in_takes_the_saved_one(tying: dict[str, Any]) -> None:
    early, late = tiny_training(tying), tiny_training(tying)
    saved = state(early.model)
    losses(late, 7)
    assert not torch.equal(late.model.tying.output_weight(), saved["tying.output_embedding"])
    late.model.load_state_dict(saved)
    assert_same_function(late.model, early.model)
    with torch.device("meta"):
        empty = build_model(shape(tying), V, T)
    empty.load_state_dict({name: tensor.clone() for name, tensor in late.model.state_dict().items()}, assign=True)
    assert_same_function(empty, early.model)


def test_a_micro_batch_is_tried_in_every_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    """A size that fits before an untie must fit after it too."""
    stages: list[int] = []
    advance = Trainer.advance

    def watched(training: Trainer) -> StepRecord:
        record = advance(training)
        assert isinstance(training.model.tying, Progressive)
        stages.append(training.model.tying.stage)
        return record

    monkeypatch.setattr(Trainer, "advance", watched)
    data = {"corpus": {"type": "python-docs"}, "tokenizer": {"type": "byte"}, "seq_len": T}
    recipe = {"steps": 9, "batch_size": 2, "learning_rate": 1e-3, "device": "cpu", "precision": "fp32"}
    for tying, expected in ((TIE, [0, 0, 1, 1, 2, 2]), (UNTIE, [0, 0, 2, 2])):
        stages.clear()
        config = RunConfig(
            name="a",
            variant="b",
            data=parse(DataConfig, data),
            model=shape(tying),
            training=parse(TrainingConfig, recipe),
        )
        micro_batch.try_two_steps(config, 2, V)
        assert stages == expected


def test_one_matrix_of_the_two_is_all_that_a_model_needs_in_the_end() -> None:
    for tying, left in ((TIE, V * D), (UNTIE, 0)):
        idle = tiny_training(tying).model.tying.idle_at_inference()
        assert sum(map(torch.numel, idle)) == left
