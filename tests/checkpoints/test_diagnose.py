"""`diagnose`: what it says of sound modules, of planted faults, and that its probe leaves no trace."""

import copy
import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import tiedlm
from tests.support.planted_modules import D, DetachedHead, Model, V, adam, ids
from tiedlm.checkpoints.diagnosis import Diagnosis


def kinds(found: Diagnosis) -> list[str]:
    return [each.kind for each in found.findings]


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


def test_it_is_frozen_and_says_all_in_words() -> None:
    found = tiedlm.diagnose(*two_recipes())
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.flag = None  # type: ignore[misc]
    text = str(found)
    for words in ("Model: one memory, two parameters", "23 x 8 float32 on cpu", "tie_word_embeddings: true", "group 1"):
        assert words in text
