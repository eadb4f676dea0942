"""The probe of `diagnose`: it counts, says why where it cannot, and leaves no trace."""

import copy
import random

import numpy as np
import pytest
import torch
from torch import Tensor

import tiedlm
from tests.support.planted_modules import Model, adam, ids


@pytest.mark.parametrize("probe", [True, False])
def test_the_probe_leaves_no_trace(probe: bool) -> None:
    model = Model()
    model.dropout.eval()
    called: list[str] = []
    model.embed.weight.register_hook(lambda gradient: called.append("hook"))
    model(ids()).sum().backward()
    before = copy.deepcopy(model.state_dict())
    assert called == ["hook"] and model.embed.weight.grad is not None
    gradient, values = model.embed.weight.grad, model.embed.weight.grad.clone()
    flags = [each.training for each in model.modules()]
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
    versions = [parameter._version for parameter in model.parameters()]
    tiedlm.diagnose(model, adam(model), probe=probe)
    assert torch.equal(states[0], torch.get_rng_state()) and states[1] == random.getstate()
    assert states[2] == np.random.get_state()[1].tolist()  # type: ignore[index]
    assert model.embed.weight.grad is gradient and torch.equal(gradient, values)
    assert flags == [each.training for each in model.modules()]
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert versions == [parameter._version for parameter in model.parameters()]
    assert called == ["hook"]
    model(ids()).sum().backward()
    assert called == ["hook", "hook"], "the hook is there again"


def test_it_counts_under_no_grad_and_tells_why_it_cannot() -> None:
    with torch.no_grad():
        paths = tiedlm.diagnose(Model()).gradient_paths
    assert paths is not None and paths.arrived == 2
    model = Model()
    model.embed.weight.requires_grad_(False)
    paths = tiedlm.diagnose(model).gradient_paths
    assert paths is not None and paths.problem == "both matrices are frozen"
    model = Model()
    model.register_module("norm", None)
    paths = tiedlm.diagnose(model).gradient_paths
    assert paths is not None and paths.problem.startswith("the forward pass failed (TypeError")


def test_a_module_on_meta_is_counted_without_values() -> None:
    found = tiedlm.diagnose(Model(device="meta"))
    assert found.is_meta and found.relation == "same parameter" and not found.findings
    assert found.gradient_paths is not None
    assert (found.gradient_paths.input, found.gradient_paths.arrived) == (2, None)


class WithTable(Model):
    """Its forward pass makes a buffer as long as the text, and notes how long that is."""

    reach = 0

    def __init__(self, *, has_buffer: bool) -> None:
        super().__init__()
        if has_buffer:
            self.register_buffer("scale", torch.ones(1))

    def forward(self, ids: Tensor) -> Tensor:
        if ids.shape[1] > self.reach:
            self.reach = ids.shape[1]
            self.register_buffer("table", torch.ones(self.reach, 1), persistent=False)
        return super().forward(ids) * self.get_buffer("table")[: ids.shape[1]]


@pytest.mark.parametrize("has_buffer", [True, False])
def test_buffers_that_the_forward_pass_makes_are_gone_and_the_module_still_works(has_buffer: bool) -> None:
    model = WithTable(has_buffer=has_buffer)
    names = [name for name, _ in model.named_buffers()]
    attributes = set(vars(model))
    paths = tiedlm.diagnose(model).gradient_paths
    assert paths is not None and paths.arrived == 2
    assert [name for name, _ in model.named_buffers()] == names
    assert (model.reach, model._non_persistent_buffers_set, set(vars(model))) == (0, set(), attributes)
    model(ids())
