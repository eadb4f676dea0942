"""Training against what it must equal: one batch or several, straight or resumed, fp16 or fp32."""

import math
from typing import Any

import pytest
import torch

from tests.support.trainings import V, largest_difference, run, training, weights
from tiedlm.config.base import ConfigError
from tiedlm.data.batches import Int64
from tiedlm.errors import RunError
from tiedlm.kernels.nll import IGNORED
from tiedlm.model.parameters import hash_body, hash_input_embedding
from tiedlm.training.environment import NUMERICS_VERSION
from tiedlm.training.memory import Peaks
from tiedlm.training.trainer import Trainer
from tiedlm.tying.head import FullHead


@pytest.mark.parametrize("micro", [1, 3])
def test_l01_accumulation_weighs_by_tokens(micro: int) -> None:
    """Batch 4 at once or in parts with *uneven* token counts: the same losses and the same weights."""
    whole = training(num_tokens=110, optimizer="sgd", momentum=0.0, learning_rate=0.5, max_grad_norm=None)
    parts = training(num_tokens=110, optimizer="sgd", momentum=0.0, learning_rate=0.5, max_grad_norm=None, micro=micro)
    _, targets = whole.batches.batch(0)
    counts = (targets != IGNORED).sum(axis=1)
    assert len(set(counts)) > 1, "equal counts would hide a mean of means"
    for one, other in zip(run(whole, 4), run(parts, 4), strict=True):
        assert one.loss == pytest.approx(other.loss, abs=1e-6)
    assert largest_difference(whole.model, parts.model) < 1e-6


def test_the_loss_is_the_mean_over_the_targets_of_the_global_batch() -> None:
    some = training(num_tokens=110, micro=1)
    ids, targets = (torch.from_numpy(array) for array in some.batches.batch(0))
    scores = some.model.logits(ids)
    expected = torch.nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=IGNORED)
    assert some.advance().loss == pytest.approx(expected.item(), rel=1e-6)


def test_one_step_of_sgd_is_the_gradient_of_the_mean_loss() -> None:
    some = training(optimizer="sgd", momentum=0.0, weight_decay=0.0, learning_rate=0.1, max_grad_norm=None)
    before = weights(some.model)
    ids, targets = (torch.from_numpy(array) for array in some.batches.batch(0))
    scores = some.model.logits(ids).flatten(0, 1)
    torch.nn.functional.cross_entropy(scores, targets.flatten(), ignore_index=IGNORED).backward()
    gradients = {name: parameter.grad for name, parameter in some.model.named_parameters()}
    rate = some.advance().learning_rate
    for name, parameter in some.model.named_parameters():
        gradient = gradients[name]
        assert gradient is not None
        torch.testing.assert_close(parameter.detach(), before[name] - rate * gradient, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_l03_resumed_is_the_uninterrupted_run_bit_for_bit(optimizer: str) -> None:
    """Stopped in the middle of an epoch, with dropout, accumulation and uneven windows."""
    settings: dict[str, Any] = {"dropout": 0.1, "micro": 2, "optimizer": optimizer, "warmup": 3}
    straight = training(**settings)
    all_of_it = run(straight, 20)
    first = training(**settings)
    run(first, 10)
    torch.manual_seed(12345)  # what else the process draws must not matter
    second = training(**settings, seed=0)
    second.restore(first.snapshot())
    rest = run(second, 10)
    for before, after in zip(all_of_it[10:], rest, strict=True):
        assert (before.step, before.loss, before.learning_rate, before.gradient_norm, before.tokens) == (
            after.step,
            after.loss,
            after.learning_rate,
            after.gradient_norm,
            after.tokens,
        )
    assert largest_difference(straight.model, second.model) == 0
    assert second.progress.batches_hash == straight.progress.batches_hash
    assert second.progress.first_loss == straight.progress.first_loss


def test_a_repeated_run_is_bit_equal_and_another_seed_is_not() -> None:
    one, same, other = training(dropout=0.1), training(dropout=0.1), training(dropout=0.1, seed=1)
    losses = [[record.loss for record in run(some, 5)] for some in (one, same, other)]
    assert losses[0] == losses[1] != losses[2]
    assert largest_difference(one.model, same.model) == 0


def test_tied_and_untied_start_from_the_same_body_and_see_the_same_batches() -> None:
    tied, untied = training(), training(tying={"type": "untied"})
    assert hash_body(tied.model) == hash_body(untied.model)
    assert hash_input_embedding(tied.model) == hash_input_embedding(untied.model)
    run(tied, 3), run(untied, 3)
    assert tied.progress.batches_hash == untied.progress.batches_hash
    assert hash_body(tied.model) != hash_body(untied.model), "they must have been trained"


def test_an_untied_copy_has_the_tied_first_loss_to_the_last_bit() -> None:
    tied, copied = training(), training(tying={"type": "untied", "output_init": "copy"})
    independent = training(tying={"type": "untied"})
    losses = [run(some, 2) for some in (tied, copied, independent)]
    assert losses[0][0].loss == losses[1][0].loss != losses[2][0].loss
    assert losses[0][1].loss != losses[1][1].loss, "after one step they are two models"
    for first, _ in losses:
        assert abs(first.loss - math.log(V)) < 0.3


def test_zero_start_scores_ln_v_at_first() -> None:
    zero = training(tying={"type": "untied", "output_init": "zero"})
    assert zero.advance().loss == pytest.approx(math.log(V), rel=1e-6)


def test_l05_the_logged_rate_is_the_one_the_step_used() -> None:
    """Without momentum and clipping an update is the rate times the gradient, so the rate can be read off."""
    settings: dict[str, Any] = {"optimizer": "sgd", "momentum": 0.0, "weight_decay": 0.0, "max_grad_norm": None}
    some = training(warmup=5, **settings)
    for _ in range(3):
        before = weights(some.model)
        record = some.advance()
        gradient = {name: parameter.grad for name, parameter in some.model.named_parameters()}
        name = "tying.input_embedding"
        taken, expected = before[name] - weights(some.model)[name], gradient[name]
        assert expected is not None
        assert float(taken.norm() / expected.norm()) == pytest.approx(record.learning_rate, rel=1e-3)


def test_the_gradient_norm_counts_a_shared_matrix_once_and_clips_to_the_limit() -> None:
    some = training(optimizer="sgd", momentum=0.0, weight_decay=0.0, learning_rate=1.0, max_grad_norm=0.01)
    before = weights(some.model)
    record = some.advance()
    moved = math.sqrt(sum(float((before[name] - now).square().sum()) for name, now in weights(some.model).items()))
    assert record.gradient_norm > 0.1
    assert moved == pytest.approx(0.01, rel=1e-3)


def test_l07_fp16_clips_after_unscaling() -> None:
    """A real scaler (it exists for the CPU too): the norm within 2 % of fp32, the clipped update within 1 %."""
    settings: dict[str, Any] = {"optimizer": "sgd", "momentum": 0.0, "weight_decay": 0.0, "max_grad_norm": 1.0}
    full, half = training(**settings, learning_rate=1.0), training(**settings, learning_rate=1.0, precision="fp16")
    start = weights(full.model)
    one, other = full.advance(), half.advance()
    assert other.gradient_norm == pytest.approx(one.gradient_norm, rel=0.02)
    moved = [
        math.sqrt(sum(float((start[name] - now).square().sum()) for name, now in weights(some.model).items()))
        for some in (full, half)
    ]
    assert moved[1] == pytest.approx(moved[0], rel=0.01)


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_an_fp16_overflow_repeats_the_step_at_a_smaller_scale_and_loses_no_batch(optimizer: str) -> None:
    """In the very first step too, where an optimizer makes its state: it must not be made of unwritten memory."""
    full, half = training(optimizer=optimizer), training(precision="fp16", optimizer=optimizer)
    scale = 2.0**40  # far beyond what fp16 gradients can hold
    half.scaler.load_state_dict({**half.scaler.state_dict(), "scale": scale})
    records = run(half, 3)
    assert half.scaler.get_scale() < scale
    assert [record.step for record in records] == [1, 2, 3]
    expected = run(full, 3)
    assert [record.loss for record in records] == pytest.approx([record.loss for record in expected], rel=2e-3)
    assert half.progress.batches_hash == full.progress.batches_hash
    assert [group["lr"] for group in half.optimizer.param_groups] == [
        group["lr"] for group in full.optimizer.param_groups
    ]


def test_a_loss_that_is_not_finite_stops_the_run_and_names_the_step() -> None:
    some = training()
    run(some, 2)
    with torch.no_grad():
        some.model.tying.output_weight()[3, 3] = math.inf
    before = weights(some.model)
    with pytest.raises(RunError, match="step 3") as stopped:
        some.advance()
    assert (stopped.value.kind, stopped.value.step) == ("diverged", 3)
    assert some.progress.step == 2
    assert all(torch.equal(before[name], now) for name, now in weights(some.model).items())


def test_a_gradient_that_is_not_finite_stops_the_run_before_a_weight_changes() -> None:
    some = training(max_grad_norm=None)
    with torch.no_grad():
        gain = next(some.model.final_norm.parameters())
        gain.mul_(1e21)  # the loss is large and finite, the squares of its gradient are not
    before = weights(some.model)
    with pytest.raises(RunError, match="gradient of step 1") as stopped:
        some.advance()
    assert (stopped.value.kind, stopped.value.step) == ("diverged", 1)
    assert all(torch.equal(before[name], now) for name, now in weights(some.model).items())


def noting(some: Trainer, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """For which steps a batch is made from now on."""
    made, make = list[int](), some.batches.batch

    def noted(step: int) -> tuple[Int64, Int64]:
        made.append(step)
        return make(step)

    monkeypatch.setattr(some.batches, "batch", noted)
    return made


def test_each_batch_is_made_once_and_none_after_the_last_step(monkeypatch: pytest.MonkeyPatch) -> None:
    some = training(num_steps=4)
    made = noting(some, monkeypatch)
    run(some, 2)
    assert made == [0, 1, 2], "the next one is there already"
    run(some, 2)
    assert made == [0, 1, 2, 3]


def test_the_next_batch_is_made_before_the_loss_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    some = training()
    made = noting(some, monkeypatch)
    with torch.no_grad():
        some.model.tying.output_weight()[3, 3] = math.inf
    with pytest.raises(RunError, match="loss of step 1"):
        some.advance()
    assert made == [0, 1]


def test_training_learns_what_repeats() -> None:
    some = training(num_tokens=128, num_steps=60, learning_rate=3e-3)
    records = run(some, 60)
    assert records[-1].loss < records[0].loss - 1


def test_speed_leaves_the_first_steps_out() -> None:
    some = training()
    records = run(some, 5)
    assert some.progress.steady_tokens == records[4].tokens - records[2].tokens
    assert 0 < some.progress.steady_seconds < some.progress.seconds


@pytest.mark.parametrize(("key", "change"), [("precision", {"precision": "bf16"}), ("micro_batch_size", {"micro": 2})])
def test_a_run_is_not_continued_in_another_environment(key: str, change: dict[str, Any]) -> None:
    """Half of it in fp32 and half in bf16 would be neither, and be called by the name of the second half."""
    begun, other = training(), training(**change)
    run(begun, 2)
    with pytest.raises(ConfigError, match=rf"training\.{key}: step 2 was reached with"):
        other.restore(begun.snapshot())


def test_the_peak_of_a_run_is_the_largest_of_its_processes_and_none_of_one_that_took_no_step() -> None:
    begun, going_on = training(), training()
    run(begun, 2)
    begun.progress.peaks = Peaks(gpu_allocated=5, gpu_reserved=None, host_rss=10**15)
    going_on.restore(begun.snapshot())
    assert going_on.progress.peaks == Peaks(5, None, 10**15)
    untouched = going_on.snapshot().progress["peaks"]
    assert (untouched["gpu_allocated"], untouched["host_rss"]) == (5, 10**15)
    assert training().snapshot().progress["peaks"]["host_rss"] is None


def test_a_run_that_was_begun_when_the_code_rounded_differently_is_not_continued() -> None:
    begun = training()
    run(begun, 2)
    before = begun.snapshot()
    del before.progress["circumstances"]["arithmetic"]
    with pytest.raises(ConfigError, match=f"arithmetic: step 2 was reached with 1, now it is {NUMERICS_VERSION}"):
        training().restore(before)


@pytest.mark.parametrize("tying", ["tied", "untied"])
def test_the_full_head_trains_as_the_lean_one_does_and_is_not_gone_on_with_by_it(
    tying: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lean, full = (training(tying={"type": tying}, head=head, z_loss=1e-3) for head in ("auto", "full"))
    calls: list[bool] = []
    objective = FullHead.objective

    def counted(*given: Any) -> Any:
        calls.append(True)
        return objective(*given)

    monkeypatch.setattr(FullHead, "objective", counted)
    for one, other in zip(run(lean, 5), run(full, 5), strict=True):
        assert one.loss == pytest.approx(other.loss, abs=1e-5)
    assert calls == [True] * 5
    assert largest_difference(lean.model, full.model) < 1e-4
    with pytest.raises(ConfigError, match=r"training\.head: step 5 was reached with full, now it is lean"):
        training(tying={"type": tying}).restore(full.snapshot())


def test_a_run_of_before_there_was_a_choice_of_heads_had_the_lean_one() -> None:
    begun = training()
    run(begun, 2)
    before = begun.snapshot()
    del before.progress["circumstances"]["head"]
    again = training()
    again.restore(before)
    assert again.progress.step == 2
