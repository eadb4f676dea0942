"""Which two matrices are meant: by getters, by the tying of our models, by their sizes, or as they are named."""

from typing import Any

import pytest
from torch import Tensor, nn

import tiedlm
from tests.support.planted_modules import D, Model, V, WithoutHead
from tests.support.tying_runs import tiny_model
from tiedlm.errors import ConfigError


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


@pytest.mark.parametrize("error", [NotImplementedError, RuntimeError, TypeError])
def test_getters_that_fail_are_passed_over(error: type[Exception]) -> None:
    class Failing(Model):
        def get_input_embeddings(self) -> nn.Module:
            raise error("not here")

    assert tiedlm.diagnose(Failing()).found_by == "an nn.Embedding and an nn.Linear of one vocabulary"


def test_a_weight_made_of_several_parameters_is_refused() -> None:
    model = ByGuess()
    nn.utils.parametrizations.weight_norm(model.head)
    with pytest.raises(ConfigError, match=r"^the weight of head is made of several parameters: name the two"):
        tiedlm.diagnose(model)
    found = tiedlm.diagnose(model, input="tokens", output="head.parametrizations.weight.original1")
    assert found.output and found.output.name == "head.parametrizations.weight.original1"
