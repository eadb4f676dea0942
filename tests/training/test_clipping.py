"""Z-loss, the embeddings' own rate, epsilon and limit, the output path's limit: each against its formula."""

import copy
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.one_step import PLAIN, assert_close, batch, by_name, gradients, moved, of_embeddings, written_out
from tests.support.small_runs import small_experiment
from tests.support.tying_runs import TIED, UNTIED, assert_same_training, losses, state, tiny_training
from tiedlm.config.base import ConfigError, first_difference, parse
from tiedlm.errors import RunError
from tiedlm.kernels.nll import IGNORED
from tiedlm.training.clipping import gradient_norm
from tiedlm.training.config import TrainingConfig
from tiedlm.training.step import MicroBatchLoss
from tiedlm.training.trainer import Trainer

STRATEGIES: list[dict[str, Any]] = [
    {**TIED, "output_bias": True},
    UNTIED,
    {"type": "soft", "strength": 0.3},
    {"type": "partial_vocabulary", "shared": 9},
    {"type": "partial_dimensions", "shared": 5},
    {"type": "projected", "strength": 0.1},
    {"type": "factorized", "width": 5, "share": "table_and_map"},
    {"type": "progressive", "direction": "tie", "penalty_from": 0.2, "switch_at": 0.5},
    {"type": "progressive", "direction": "untie", "switch_at": 0.5},
]
EVERYWHERE = pytest.mark.parametrize(
    "tying", STRATEGIES, ids=[f"{raw['type']}{raw.get('direction', '')}" for raw in STRATEGIES]
)
ENDS = pytest.mark.parametrize("tying", [TIED, UNTIED], ids=["tied", "untied"])
ALL: dict[str, Any] = {
    "z_loss": 1e-3,
    "embedding_learning_rate_factor": 0.5,
    "embedding_max_grad_norm": 0.5,
    "output_max_grad_norm": 0.2,
}


def norm(tensors: dict[str, Tensor]) -> float:
    return math.sqrt(sum(float(tensor.double().square().sum()) for tensor in tensors.values()))


@EVERYWHERE
def test_the_z_loss_is_in_the_objective_with_its_gradient(tying: dict[str, Any]) -> None:
    training = tiny_training(tying, **PLAIN, z_loss=0.1)
    training.progress.step = 3  # one of its windows is short
    assert (batch(training)[1] == IGNORED).any()
    training.model.tying.set_progress(3 / 10)
    loss, _ = written_out(training, 0.1)
    expected = gradients(training, 0.1)
    assert loss.item() > written_out(training)[0].item() + 1
    assert_close(moved(training), expected)
    assert training.progress.last_loss == pytest.approx(loss.item(), rel=1e-6)


def test_the_z_loss_is_not_in_the_nll_beside_the_objective() -> None:
    plain, treated = tiny_training(TIED), tiny_training(TIED, z_loss=0.1)
    results = [some.training_step(MicroBatchLoss(*batch(some), 128, 1)) for some in (plain, treated)]
    assert torch.equal(results[0][1], results[1][1]) and not results[1][1].requires_grad
    assert results[1][0] > results[0][0]
    assert torch.equal(plain.model.token_nll(*batch(plain)), treated.model.token_nll(*batch(treated)))


def test_the_z_loss_draws_the_normalizer_to_zero() -> None:
    found = []
    for z_loss in (0.0, 1.0):
        training = tiny_training(TIED, num_steps=40, z_loss=z_loss)
        losses(training, 40)
        found.append(training.model.logits(batch(training)[0]).logsumexp(-1).square().mean().item())
    assert found[1] < found[0] / 10


@EVERYWHERE
def test_micro_batches_change_nothing(tying: dict[str, Any]) -> None:
    """Over the six steps of an epoch, the last of whose windows is short: a mean of means would show."""
    keys = {**PLAIN, **ALL, "learning_rate": 0.1}
    whole, parts = (tiny_training(tying, micro=micro, **keys) for micro in (4, 3))
    short = [(whole.batches.batch(step)[1] != IGNORED).sum() for step in range(6)]
    assert len(set(short)) > 1
    for _ in range(6):
        one, other = whole.advance(), parts.advance()
        assert one.loss == pytest.approx(other.loss, abs=1e-5)
        assert one.gradient_norm == pytest.approx(other.gradient_norm, rel=1e-4)
    assert_close(state(whole.model), state(parts.model), 1e-5)


@ENDS
@pytest.mark.parametrize("limit", [None, 0.05])
def test_the_embeddings_are_clipped_by_their_own_norm_and_the_others_by_theirs(
    tying: dict[str, Any], limit: float | None
) -> None:
    training = tiny_training(tying, **{**PLAIN, "max_grad_norm": limit}, embedding_max_grad_norm=0.1)
    expected = gradients(training)
    embeddings, others = of_embeddings(expected), of_embeddings(expected, others=True)
    assert norm(embeddings) > 0.2 and norm(others) > 0.1
    after = moved(copy.deepcopy(training))
    share = 1.0 if limit is None else limit / norm(others)
    assert_close(of_embeddings(after), {name: way * 0.1 / norm(embeddings) for name, way in embeddings.items()})
    assert_close(of_embeddings(after, others=True), {name: way * share for name, way in others.items()})
    assert training.advance().gradient_norm == pytest.approx(norm(expected), rel=1e-4), "of all, unclipped"


def joined(training: Trainer, share: float) -> tuple[dict[str, Tensor], float]:
    """The gradients of a step where what comes through the output embedding has that share; the norm of it before."""
    loss, weight = written_out(training)
    parameters = list(training.model.parameters())
    whole = by_name(training.model, torch.autograd.grad(loss, parameters, allow_unused=True, retain_graph=True))
    (of_output,) = torch.autograd.grad(loss, [weight], retain_graph=True)
    path = by_name(training.model, torch.autograd.grad(weight, parameters, of_output, allow_unused=True))
    for name, gradient in path.items():
        whole[name] = whole[name] - (1 - share) * gradient
    return whole, float(of_output.norm())


@EVERYWHERE
@pytest.mark.parametrize("micro", [1, 4])
def test_the_limit_on_the_output_path_is_on_what_the_head_gives_alone(tying: dict[str, Any], micro: int) -> None:
    _, size = joined(tiny_training(tying), 1.0)
    training = tiny_training(tying, micro=micro, **PLAIN, output_max_grad_norm=size / 4)
    expected, _ = joined(training, 0.25)
    found = moved(training)
    assert_close(found, expected)
    assert norm(found) < norm(moved(tiny_training(tying, **PLAIN))) * 0.99


def test_the_limit_on_the_output_path_leaves_the_lookups_gradient_alone() -> None:
    """Of a shared matrix what the lookup gives is the input matrix's gradient of two that start equal."""
    plain = tiny_training({**UNTIED, "output_init": "copy"}, **PLAIN)
    apart = gradients(plain)
    limit = float(apart["tying.output_embedding"].norm()) / 10
    expected = apart["tying.input_embedding"] + apart["tying.output_embedding"] / 10
    found = moved(tiny_training(TIED, **PLAIN, output_max_grad_norm=limit))
    torch.testing.assert_close(found["tying.input_embedding"], expected, rtol=1e-4, atol=1e-6)
    untied = moved(tiny_training({**UNTIED, "output_init": "copy"}, **PLAIN, output_max_grad_norm=limit))
    assert torch.equal(untied["tying.input_embedding"], moved(plain)["tying.input_embedding"])


@EVERYWHERE
def test_a_limit_that_is_not_reached_changes_nothing(tying: dict[str, Any]) -> None:
    plain, limited = tiny_training(tying), tiny_training(tying, output_max_grad_norm=1e6)
    assert losses(limited, 8) == pytest.approx(losses(plain, 8), rel=1e-5)


@ENDS
def test_values_of_their_own_that_are_those_of_all_change_no_bit(tying: dict[str, Any]) -> None:
    own: dict[str, Any] = {"embedding_eps": 1e-8, "embedding_max_grad_norm": 1e9, "embedding_learning_rate_factor": 1.0}
    assert_same_training(tiny_training(tying, max_grad_norm=1e9), tiny_training(tying, max_grad_norm=1e9, **own))


@pytest.mark.parametrize("scale", [2.0**16, 2.0**40])
@ENDS
def test_fp16_is_limited_by_what_the_gradient_is_without_its_scale(tying: dict[str, Any], scale: float) -> None:
    """At the larger scale everything overflows at first: the step is taken again, and no weight has moved before."""
    keys = {**PLAIN, **ALL, "max_grad_norm": 0.3}
    full, half = tiny_training(tying, **keys), tiny_training(tying, **keys, precision="fp16")
    half.scaler.load_state_dict({**half.scaler.state_dict(), "scale": scale})
    expected, found = moved(full), moved(half)
    for part in (False, True):
        mine, theirs = of_embeddings(found, others=part), of_embeddings(expected, others=part)
        difference = {name: mine[name] - theirs[name] for name in mine}
        assert norm(difference) < 0.02 * norm(theirs)
    assert half.scaler.get_scale() < 2.0**40


def test_an_output_gradient_that_is_not_finite_stops_the_run_before_a_weight_changes() -> None:
    """Its entries are finite and their squares are not: clipped to zero it would pass unseen."""
    training = tiny_training({**UNTIED, "output_init": "zero"}, max_grad_norm=None, output_max_grad_norm=1.0)
    with torch.no_grad():
        next(training.model.final_norm.parameters()).mul_(1e21)
    before = state(training.model)
    with pytest.raises(RunError, match="gradient of step 1"):
        training.advance()
    assert all(torch.equal(before[name], now) for name, now in state(training.model).items())


@ENDS
def test_all_of_them_resume_bit_for_bit(tying: dict[str, Any]) -> None:
    keys = {**ALL, "embedding_eps": 1e-5, "embedding_weight_decay": 0.1}
    straight, first, second = (tiny_training(tying, micro=2, **keys) for _ in range(3))
    expected = losses(straight, 8)
    losses(first, 3)
    second.restore(first.snapshot())
    assert losses(second, 5) == expected[3:]
    assert all(torch.equal(value, state(second.model)[name]) for name, value in state(straight.model).items())


def test_a_compiled_body_is_trained_alike() -> None:
    """What limits and penalizes stands outside of what is compiled, and reads the same parameters."""
    plain, compiled = (tiny_training(TIED, **ALL) for _ in range(2))
    for training in (plain, compiled):
        training.model.logit_softcap, training.model.embedding_residual = 2.0, True
    compiled.training_step.compile(backend="eager")
    assert losses(compiled, 4) == pytest.approx(losses(plain, 4), rel=1e-5)
    assert_close(state(compiled.model), state(plain.model), 1e-5)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model.logit_softcap", 30.0),
        ("model.embedding_residual", True),
        ("training.z_loss", 1e-4),
        ("training.embedding_learning_rate_factor", 0.5),
        ("training.embedding_eps", 1e-6),
        ("training.embedding_max_grad_norm", 0.5),
        ("training.output_max_grad_norm", 0.5),
    ],
)
def test_each_is_a_part_of_a_runs_identity_and_the_same_for_every_variant(
    tmp_path: Path, key: str, value: object
) -> None:
    plain = small_experiment(tmp_path).variants
    for name, config in small_experiment(tmp_path, f"{key}={str(value).lower()}").variants.items():
        difference = first_difference(config, plain[name])
        assert difference is not None and difference[:2] == (key, value)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"z_loss": -1e-4}, "z_loss: .*at least 0"),
        ({"embedding_learning_rate_factor": -0.5}, "embedding_learning_rate_factor: .*at least 0"),
        ({"embedding_eps": 0.0}, "embedding_eps: .*above 0"),
        ({"embedding_max_grad_norm": 0.0}, "embedding_max_grad_norm: .*above 0"),
        ({"output_max_grad_norm": -1.0}, "output_max_grad_norm: .*above 0"),
        ({"output_max_grad_norm": True}, "output_max_grad_norm"),
        ({"embedding_eps": 1e-6, "optimizer": "sgd"}, "embedding_eps means nothing to optimizer: sgd"),
        ({"embedding_betas": [0.9, 0.9], "optimizer": "sgd"}, "embedding_betas means nothing to optimizer: sgd"),
        ({"embedding_learning_rate_factor": "sqrt"}, "embedding_learning_rate_factor"),
        ({"output_learning_rate_factor": -1.0}, "output_learning_rate_factor: .*at least 0"),
    ],
    ids=str,
)
def test_a_value_out_of_its_range_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse(TrainingConfig, {"steps": 1, "batch_size": 1, "learning_rate": 1e-3, **keys})


def test_the_norm_of_a_large_gradient_keeps_its_digits() -> None:
    parameters = [torch.nn.Parameter(torch.empty(shape)) for shape in ((5000, 1000), (1000,), (3, 2, 5))]
    assert gradient_norm(parameters) == 0, "where there is none"
    for parameter in parameters[:2]:
        parameter.grad = torch.randn(parameter.shape)
    exact = torch.cat([p.grad.double().flatten() for p in parameters[:2] if p.grad is not None]).norm()
    assert float(gradient_norm(parameters)) == pytest.approx(float(exact), rel=1e-6)


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_clip_inside_the_optimizer_is_a_clip_before_it(optimizer: str) -> None:
    inside, before = (tiny_training(TIED, optimizer=optimizer, max_grad_norm=0.05) for _ in range(2))
    before.update.limits.divides = False
    assert inside.update.limits.divides
    for _ in range(3):
        one, other = inside.advance(), before.advance()
        assert one.gradient_norm > 0.05, "or nothing is clipped"
        assert one.loss == pytest.approx(other.loss, rel=1e-5)
    for mine, theirs in zip(inside.model.parameters(), before.model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-5)
