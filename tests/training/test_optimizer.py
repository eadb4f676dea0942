"""Which parameters decay, each of them once."""

from typing import Any

import pytest
import torch
from torch import Tensor

from tiedlm.config.base import parse
from tiedlm.model.config import TransformerConfig
from tiedlm.model.language_model import LanguageModel, build_model
from tiedlm.model.parameters import parameter_parts
from tiedlm.training.config import TrainingConfig
from tiedlm.training.machine import Machine
from tiedlm.training.optimizer import build_optimizer, copy_optimizer_state, parameter_groups, start_optimizer_state


def tiny(tying: str) -> LanguageModel:
    raw = {"num_layers": 2, "dim": 16, "num_heads": 2, "tying": {"type": tying, "output_bias": True}}
    model = build_model(parse(TransformerConfig, raw), 97, 32)
    model.initialize(0)
    return model


def optimizer_of(model: LanguageModel, **keys: Any) -> torch.optim.Optimizer:
    raw = {"steps": 1, "batch_size": 1, "learning_rate": 0.1, **keys}
    config = parse(TrainingConfig, raw)
    return build_optimizer(parameter_groups(model, config), config, Machine(torch.device("cpu"), "fp32", compile=False))


@pytest.mark.parametrize("tying", ["tied", "untied"])
def test_t09_every_parameter_stands_in_one_group_once(tying: str) -> None:
    model = tiny(tying)
    members = [id(parameter) for group in optimizer_of(model).param_groups for parameter in group["params"]]
    assert len(members) == len(set(members))
    assert set(members) == {id(parameter) for parameter in model.parameters()}


@pytest.mark.parametrize("tying", ["tied", "untied"])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_t09_one_step_without_gradients_decays_a_matrix_once(tying: str, optimizer: str) -> None:
    """0.99 is lr x decay once; 0.9801 would be twice, for a matrix that stands in the optimizer twice."""
    model = tiny(tying)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    update = optimizer_of(model, optimizer=optimizer, weight_decay=0.1, embedding_weight_decay=0.1)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    update.step()
    for name, parameter in model.named_parameters():
        factor = 0.99 if parameter.dim() > 1 else 1.0
        torch.testing.assert_close(parameter.detach(), before[name] * factor, rtol=1e-6, atol=0)


@pytest.mark.parametrize("tying", ["tied", "untied"])
def test_embeddings_have_a_decay_of_their_own_and_norms_and_biases_none(tying: str) -> None:
    model = tiny(tying)
    groups = optimizer_of(model, weight_decay=0.3, embedding_weight_decay=0.2).param_groups
    decay = {id(parameter): group["weight_decay"] for group in groups for parameter in group["params"]}
    for name, parameter in model.named_parameters():
        is_embedding = name.startswith("tying.") and parameter.dim() > 1
        assert decay[id(parameter)] == (0.2 if is_embedding else 0.3 if parameter.dim() > 1 else 0.0), name


def test_copied_state_goes_on_like_the_source() -> None:
    model = tiny("untied")
    update = optimizer_of(model)
    source, target = parameter_parts(model)["input_embedding"][0], parameter_parts(model)["output_embedding"][0]
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    update.step()
    copy_optimizer_state(update, source, target)
    assert torch.equal(update.state[target]["exp_avg"], update.state[source]["exp_avg"])
    update.state[source]["exp_avg"].zero_()
    assert update.state[target]["exp_avg"].abs().max() > 0, "the copy must not share memory with its source"


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
@pytest.mark.parametrize("optimizer", [{}, {"optimizer": "sgd"}, {"optimizer": "sgd", "momentum": 0.0}], ids=str)
def test_a_state_made_before_the_first_step_is_the_one_that_torch_would_make(
    optimizer: dict[str, Any], precision: str
) -> None:
    def after_steps(started: bool) -> tuple[list[Tensor], list[dict[str, Any]]]:
        model = tiny("tied")
        update = optimizer_of(model, precision=precision, **optimizer)
        if started:
            start_optimizer_state(update)
        generator = torch.Generator().manual_seed(0)
        for _ in range(3):
            for parameter in model.parameters():
                parameter.grad = torch.randn(parameter.shape, generator=generator)
            update.step()
        return list(model.parameters()), [update.state[parameter] for parameter in model.parameters()]

    (our_weights, our_states), (their_weights, their_states) = after_steps(True), after_steps(False)
    assert all(torch.equal(one, other) for one, other in zip(our_weights, their_weights, strict=True))
    for ours, theirs in zip(our_states, their_states, strict=True):
        theirs = {name: value for name, value in theirs.items() if value is not None}
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[name], value) and ours[name].dtype == value.dtype for name, value in theirs.items())
