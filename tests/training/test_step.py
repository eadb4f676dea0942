"""The module that training calls: shares of one loss, a gradient kept apart, and nothing read outside of `forward`."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.support.tying_runs import TIED, UNTIED, T, V, tiny_model, tiny_training
from tiedlm.training.machine import Machine
from tiedlm.training.step import HeadGradient, MicroBatchLoss, OutputGradient, TrainingStep

CPU = Machine(torch.device("cpu"), "fp32", compile=False)
SOFT: dict[str, Any] = {"type": "soft", "strength": 0.5}
EACH = pytest.mark.parametrize("tying", [TIED, UNTIED, {"type": "partial_vocabulary", "shared": 9}], ids=str)


def batch() -> tuple[Tensor, Tensor]:
    ids, targets = torch.randint(0, V, (2, 4, T), generator=torch.Generator().manual_seed(0))
    return ids, targets


def test_the_caller_says_which_share_of_the_penalty_is_added() -> None:
    """So that of several ranks one adds it, and not each."""
    step = TrainingStep(tiny_model(SOFT), CPU)
    ids, targets = batch()
    without, half, all_of_it = (step(MicroBatchLoss(ids, targets, 128, shares))[0] for shares in (None, 2, 1))
    penalty = step.model.tying.penalty()
    assert penalty is not None
    assert torch.equal(all_of_it, without + penalty) and torch.equal(half, without + penalty / 2)


@EACH
def test_a_head_gradient_is_all_that_is_missing_in_the_others(tying: dict[str, Any]) -> None:
    ids, targets = batch()
    plain, apart = (TrainingStep(tiny_model(tying).double(), CPU) for _ in range(2))
    kept = HeadGradient()
    for rows in (slice(0, 1), slice(1, 4)):
        for step, head_gradient in ((plain, None), (apart, kept)):
            step(MicroBatchLoss(ids[rows], targets[rows], 128, head_gradient=head_gradient))[0].backward()
    assert kept.total is not None and kept.total.shape == (V, apart.model.tying.output_weight().shape[1])
    given = apart(OutputGradient(kept.total.clone(), torch.tensor(1.0, dtype=torch.float64)))
    assert given[0].item() == given[1].item() == 0
    given[0].backward()
    for mine, theirs in zip(apart.parameters(), plain.parameters(), strict=True):
        assert mine.grad is not None and theirs.grad is not None
        torch.testing.assert_close(mine.grad.to_dense(), theirs.grad)


@pytest.mark.parametrize("factor", [0.25, 3.0])
def test_a_given_gradient_is_multiplied_by_its_factor_and_by_what_the_loss_is(factor: float) -> None:
    step = TrainingStep(tiny_model(UNTIED), CPU)
    gradient = torch.randn(step.model.tying.output_weight().shape)
    (2 * step(OutputGradient(gradient.clone(), torch.tensor(factor)))[0]).backward()
    found = {name: parameter.grad for name, parameter in step.named_parameters() if parameter.grad is not None}
    assert list(found) == ["model.tying.output_embedding"]
    torch.testing.assert_close(found["model.tying.output_embedding"], 2 * factor * gradient)


@pytest.mark.parametrize("tying", [TIED, SOFT], ids=lambda raw: raw["type"])
@pytest.mark.parametrize("keys", [{}, {"output_max_grad_norm": 0.05}], ids=str)
def test_nothing_reads_the_embeddings_outside_of_the_steps_forward(
    tying: dict[str, Any], keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What wraps the step sees its calls alone."""
    training, inside, reads = tiny_training(tying, micro=2, **keys), [False], []
    forward, module = training.training_step.forward, training.model.tying

    def noted(*given: Any) -> Any:
        inside[0] = True
        try:
            return forward(*given)
        finally:
            inside[0] = False

    def watched(name: str) -> Any:
        read = getattr(module, name)

        def call(*given: Any) -> Any:
            reads.append((name, inside[0]))
            return read(*given)

        return call

    monkeypatch.setattr(training.training_step, "forward", noted)
    for name in ("embed", "output_weight", "output_bias", "penalty"):
        monkeypatch.setattr(module, name, watched(name))
    training.advance()
    assert {name for name, _ in reads} == {"embed", "output_weight", "output_bias", "penalty"}
    assert all(is_inside for _, is_inside in reads)


def test_compiling_the_step_compiles_the_decoder_and_changes_no_bit() -> None:
    graphs: list[torch.fx.GraphModule] = []

    def noted(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Any:
        graphs.append(graph)
        return graph.forward

    plain, compiled = (TrainingStep(tiny_model(TIED), CPU) for _ in range(2))
    compiled.compile(backend=noted)
    terms = [step(MicroBatchLoss(*batch(), 128, 1)) for step in (plain, compiled)]
    assert len(graphs) == 1 and torch.equal(terms[0][0], terms[1][0])
    assert torch.equal(plain.model.token_nll(*batch()), compiled.model.token_nll(*batch())), "scoring goes the same way"
    weights = {name for name, _ in compiled.named_parameters()}
    assert weights == {name for name, _ in plain.named_parameters()}, "checkpoints keep their names"


def test_the_step_is_a_module_with_the_models_parameters_and_no_others() -> None:
    model = tiny_model(TIED)
    step: nn.Module = TrainingStep(model, CPU)
    assert [id(one) for one in step.parameters()] == [id(one) for one in model.parameters()]
