"""`diagnose`: what it says of sound modules, of planted faults, and that its probe leaves no trace."""

import copy
import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import tiedlm
from tests.support.planted_modules import D, DetachedHead, Model, V, WithoutHead, ids
from tests.support.tying_runs import tiny_model
from tiedlm.checkpoints.diagnosis import Diagnosis
from tiedlm.errors import ConfigError


def kinds(found: Diagnosis) -> list[str]:
    return [each.kind for each in found.findings]


def adam(model: nn.Module, **keys: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1, **keys)


def test_a_tied_module_is_one_parameter_that_two_paths_reach() -> None:
    model = Model()
    found = tiedlm.diagnose(model, adam(model))
    assert (found.relation, found.is_tied, found.flag, kinds(found)) == ("same parameter", True, True, [])
    assert found.stored_twice == (("embed.weight", "lm_head.weight"),)
    assert found.gradient_paths is not None
    assert (found.gradient_paths.input, found.gradient_paths.output, found.gradient_paths.arrived) == (2, 2, 2)
    (use,) = found.optimizer or ()
    assert (use.group, use.side, use.times, use.learning_rate, use.weight_decay) == (0, "both", 1, 1e-3, 0.1)
    assert found.output and (found.input.shape, found.output.name) == ((V, D), "lm_head.weight")


def test_an_untied_module_is_two_parameters_with_a_path_each() -> None:
    model = Model(is_tied=False)
    found = tiedlm.diagnose(model, adam(model))
    assert (found.relation, found.is_tied, kinds(found), found.stored_twice) == ("different", False, [], ())
    assert found.gradient_paths is not None
    assert (found.gradient_paths.input, found.gradient_paths.output, found.gradient_paths.arrived) == (1, 1, 2)
    assert [use.side for use in found.optimizer or ()] == ["input", "output"]


def lost_by_loading() -> tuple[nn.Module, Any]:
    """load_state_dict(assign=True) makes a parameter of each key; here of a file, so that nothing is shared."""
    model = Model()
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(weights, assign=True)
    return model, adam(model)


def laid_over_one_memory() -> tuple[nn.Module, Any]:
    model = Model(is_tied=False)
    model.config.tie_word_embeddings = True
    model.lm_head.weight.data = model.embed.weight.data
    return model, adam(model)


def tied_after_the_optimizer() -> tuple[nn.Module, Any]:
    model = Model(is_tied=False)
    optimizer = adam(model)
    model.config.tie_word_embeddings = True
    model.tie_weights()
    return model, optimizer


def detached_head() -> tuple[nn.Module, Any]:
    model = DetachedHead()
    return model, adam(model)


def two_recipes() -> tuple[nn.Module, Any]:
    model, _ = laid_over_one_memory()
    assert isinstance(model, Model)
    groups = [
        {"params": [model.embed.weight], "weight_decay": 0.0},
        {"params": [model.lm_head.weight], "weight_decay": 0.1},
    ]
    return model, torch.optim.AdamW(groups, lr=1e-3)


def config_against_it() -> tuple[nn.Module, Any]:
    model = Model()
    model.config.tie_word_embeddings = False
    return model, adam(model)


def forgotten_head() -> tuple[nn.Module, Any]:
    model = Model(is_tied=False)
    return model, torch.optim.AdamW([model.embed.weight], lr=1e-3)


def lost_on_meta() -> tuple[nn.Module, Any]:
    model = Model(is_tied=False, device="meta")
    model.config.tie_word_embeddings = True
    return model, None


FAULTS = {
    lost_by_loading: ("equal values", ["tie_lost"]),
    laid_over_one_memory: ("same storage", ["shared_storage", "optimizer_twice"]),
    tied_after_the_optimizer: ("same parameter", ["optimizer_stale"]),
    detached_head: ("same parameter", ["one_path"]),
    two_recipes: ("same storage", ["shared_storage", "optimizer_twice", "optimizer_recipes"]),
    config_against_it: ("same parameter", ["tied_against_flag"]),
    forgotten_head: ("different", ["optimizer_missing"]),
    lost_on_meta: ("not known", ["meta"]),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_each_planted_fault_is_named_and_no_other(fault: Any) -> None:
    found = tiedlm.diagnose(*fault())
    assert (found.relation, kinds(found)) == FAULTS[fault]
    text = str(found)
    assert all(finding.message in text for finding in found.findings)


def test_an_optimizer_that_holds_one_memory_twice_does_update_it_twice() -> None:
    """What the finding says: with SGD the step is the gradient's once by each parameter, each from its own use."""
    model, _ = laid_over_one_memory()
    assert isinstance(model, Model)
    before = model.embed.weight.detach().clone()
    model(ids()).square().sum().backward()
    gradients = [model.embed.weight.grad, model.lm_head.weight.grad]
    assert all(isinstance(each, Tensor) for each in gradients)
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    total = sum(each for each in gradients if each is not None)
    torch.testing.assert_close(model.embed.weight.detach(), before - 0.1 * total)


def test_transposed_and_viewed_memory_is_told() -> None:
    table = nn.Parameter(torch.randn(V, D))
    model = nn.Module()
    model.register_parameter("table", table)
    model.register_parameter("turned", nn.Parameter(table.data.T))
    model.register_parameter("part", nn.Parameter(table.data[2:]))
    model.register_parameter("other", nn.Parameter(table.data.clone()))
    views = {
        "turned": ("same storage", "transposed"),
        "part": ("same storage", "viewed"),
        "other": ("equal values", ""),
    }
    for name, expected in views.items():
        found = tiedlm.diagnose(model, input="table", output=name, probe=False)
        assert (found.relation, found.view) == expected


def test_two_parts_of_one_memory_that_do_not_meet_are_different() -> None:
    flat = torch.randn(2 * V, D)  # as FSDP keeps parameters
    model = nn.Module()
    model.register_parameter("first", nn.Parameter(flat[:V]))
    model.register_parameter("second", nn.Parameter(flat[V:]))
    assert tiedlm.diagnose(model, input="first", output="second", probe=False).relation == "different"


def test_a_head_without_a_module_is_found_by_its_second_path() -> None:
    found = tiedlm.diagnose(WithoutHead())
    assert (found.output, found.relation, found.is_tied) == (None, "same parameter", True)
    assert "the table also makes the scores" in str(found)


class ByGuess(nn.Module):
    """No getters: one table of positions, one of tokens, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.positions, self.tokens, self.head = nn.Embedding(7, D), nn.Embedding(V, D), nn.Linear(D, V)

    def forward(self, ids: Tensor) -> dict[str, Tensor]:
        return {"logits": self.head(self.tokens(ids) + self.positions.weight[: ids.shape[1]])}


def test_without_getters_the_two_of_one_vocabulary_are_taken_and_else_it_asks() -> None:
    model = ByGuess()
    found = tiedlm.diagnose(model)
    assert found.output and (found.input.name, found.output.name) == ("tokens.weight", "head.weight")
    assert found.gradient_paths is not None and found.gradient_paths.arrived == 2
    model.positions = nn.Embedding(V, D)
    with pytest.raises(ConfigError, match="name them by input= and output="):
        tiedlm.diagnose(model)
    for name in ("tokens", "tokens.weight", model.tokens, model.tokens.weight):
        assert tiedlm.diagnose(model, input=name, output="head").input.name == "tokens.weight"
    with pytest.raises(ConfigError, match="'nothing' is neither a module nor a parameter"):
        tiedlm.diagnose(model, input="nothing", output="head")
    with pytest.raises(ConfigError, match=r"no nn.Embedding"):
        tiedlm.diagnose(nn.ReLU())
    with pytest.raises(ConfigError, match=r"is no nn.Module"):
        tiedlm.diagnose("model")  # type: ignore[arg-type]


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


@pytest.mark.parametrize("tying", [{"type": "tied"}, {"type": "untied"}])
def test_models_of_this_package_are_known(tying: dict[str, Any]) -> None:
    found = tiedlm.diagnose(tiny_model(tying))
    assert found.is_tied == (tying["type"] == "tied") and not found.findings
    assert found.found_by == "the tying of the model"


def test_wrappers_around_a_model_are_looked_through() -> None:
    wrapper = nn.Module()
    wrapper.module = Model()
    found = tiedlm.diagnose(wrapper, probe=False)
    assert found.is_tied and found.input.name == "module.embed.weight"


class ModulesToSave(nn.Module):
    """As PEFT's wrapper of that name: the module as it was, and a copy that is trained in its place."""

    def __init__(self, original: nn.Module) -> None:
        super().__init__()
        self.original_module = original
        self.modules_to_save = nn.ModuleDict({"default": copy.deepcopy(original)})
        self.active_adapters = ["default"]

    def forward(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.modules_to_save["default"](hidden)
        return scores


def test_a_copy_that_peft_trains_unties_the_two() -> None:
    model = Model()
    model.register_module("lm_head", ModulesToSave(model.lm_head))
    found = tiedlm.diagnose(model)
    assert kinds(found) == ["adapter_on_one_side"] and found.relation == "equal values"
    assert found.output and found.output.name == "lm_head.modules_to_save.default.weight"
    assert found.output.adapter == "modules_to_save"


@pytest.fixture
def mesh(tmp_path: Path) -> Iterator[Any]:
    """A mesh of this process alone."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh

    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        yield init_device_mesh("cpu", (1,))
    finally:
        dist.destroy_process_group()


def test_of_distributed_matrices_the_parts_that_lie_here_are_compared(mesh: Any) -> None:
    from torch.distributed.tensor import distribute_tensor

    values = torch.randn(V, D)
    model = nn.Module()
    for name, tensor in (("first", values), ("equal", values.clone()), ("other", values + 1)):
        model.register_parameter(name, nn.Parameter(distribute_tensor(tensor, mesh)))
    equal, other = (tiedlm.diagnose(model, input="first", output=name, probe=False) for name in ("equal", "other"))
    assert (equal.relation, other.relation) == ("equal values", "different")
    assert equal.is_distributed and "DTensor" in str(equal)


def test_it_is_frozen_and_says_all_in_words() -> None:
    found = tiedlm.diagnose(*two_recipes())
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.flag = None  # type: ignore[misc]
    text = str(found)
    for words in ("Model: one memory, two parameters", "23 x 8 float32 on cpu", "tie_word_embeddings: true", "group 1"):
        assert words in text
