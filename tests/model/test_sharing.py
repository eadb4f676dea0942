"""Layers that stand at several depths: an order, held against models that store every layer."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.small_runs import carry_out, small_experiment, small_run
from tests.support.tying_runs import TIED, D, T, assert_same_function, shape, tiny_model
from tiedlm.config.base import ConfigError, parse
from tiedlm.experiment.match import with_matches
from tiedlm.forecast.counts import count_model
from tiedlm.model.config import LayerOrder, LayerSharing, TransformerConfig
from tiedlm.model.language_model import LanguageModel
from tiedlm.model.parameters import count_parameters
from tiedlm.model.sharing import layer_order
from tiedlm.model.transformer import Transformer

NORM = 2 * D
LAYER_MATRICES = 12 * D * D + 9 * D
"""Of a layer less its norms: qkv 3 D^2 + 3 D, output D^2 + D, up 4 D^2 + 4 D, down 4 D^2 + D."""
PATTERNS: list[Any] = ["all", {"cycle": 2}, {"groups": 2}]


def sharing(depths: int, pattern: Any, separate_norms: bool | None = None) -> LanguageModel:
    keys = {} if separate_norms is None else {"separate_norms": separate_norms}
    return tiny_model(TIED, num_layers=depths, layer_sharing=pattern, **keys)


def away_from_its_start(model: LanguageModel) -> LanguageModel:
    """So that no gain of 1 or bias of 0 hides that it is another depth's."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.2)
    return model


def order_of(model: LanguageModel) -> tuple[int, ...]:
    assert isinstance(model.body, Transformer)
    return model.body.order


def unrolled(model: LanguageModel) -> LanguageModel:
    """Every depth with a layer of its own, which holds the values of the stored one and of the depth's norms."""
    order = order_of(model)
    stored, plain = model.state_dict(), tiny_model(TIED, num_layers=len(order))
    values = {name: value for name, value in stored.items() if not name.startswith("body.")}
    for depth, layer in enumerate(order):
        of_layer, of_norms = f"body.layers.{layer}.", f"body.norms.{depth}."
        for name, value in stored.items():
            for place in (of_layer, of_norms):
                if name.startswith(place):
                    values[f"body.layers.{depth}.{name.removeprefix(place)}"] = value
    plain.load_state_dict(values)
    return plain


@pytest.mark.parametrize(
    ("pattern", "order"),
    [
        ("none", (0, 1, 2, 3)),
        ("all", (0, 0, 0, 0)),
        (LayerOrder(cycle=2), (0, 1, 0, 1)),
        (LayerOrder(cycle=3), (0, 1, 2, 0)),
        (LayerOrder(groups=2), (0, 0, 1, 1)),
        (LayerOrder(groups=3), (0, 0, 1, 2)),
    ],
)
def test_each_pattern_is_an_order_over_stored_layers(pattern: LayerSharing, order: tuple[int, ...]) -> None:
    assert layer_order(pattern, 4) == order


@pytest.mark.parametrize("pattern", [{"cycle": 4}, {"groups": 4}])
def test_as_many_stored_layers_as_depths_are_no_sharing_at_all(pattern: Any) -> None:
    shared, plain = sharing(4, pattern), tiny_model(TIED, num_layers=4)
    assert list(shared.state_dict()) == list(plain.state_dict())
    assert_same_function(shared, plain)


def test_one_stored_layer_is_all_of_them() -> None:
    for pattern in ({"cycle": 1}, {"groups": 1}):
        assert_same_function(sharing(3, pattern), sharing(3, "all"))


@pytest.mark.parametrize("separate_norms", [False, True])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_shared_layer_is_equal_layers_at_its_depths_and_has_the_sum_of_their_gradients(
    pattern: Any, separate_norms: bool
) -> None:
    model = away_from_its_start(sharing(4, pattern, separate_norms))
    plain = unrolled(model)
    assert_same_function(model, plain)
    ids, targets = torch.arange(T)[None], torch.arange(1, T + 1)[None]
    model.double().nll(ids, targets).backward(), plain.double().nll(ids, targets).backward()
    gradients = {name: parameter.grad for name, parameter in plain.named_parameters()}
    for name, parameter in model.body.named_parameters():
        kind, index, rest = name.split(".", 2)
        depths = [int(index)] if kind == "norms" else [d for d, s in enumerate(order_of(model)) if s == int(index)]
        parts = [gradients[f"body.layers.{depth}.{rest}"] for depth in depths]
        expected = torch.stack([part for part in parts if part is not None]).sum(0)
        torch.testing.assert_close(parameter.grad, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("pattern", "stored"), [("none", 6), ("all", 1), ({"cycle": 3}, 3), ({"groups": 2}, 2)])
def test_counts_are_those_of_the_stored_layers_and_of_the_norms(pattern: Any, stored: int) -> None:
    """Norms: two a stored layer, or two a depth."""

    def body(separate_norms: bool | None) -> int:
        return count_parameters(sharing(6, pattern, separate_norms), T).parts["body"]

    assert body(None) == stored * (LAYER_MATRICES + 2 * NORM), "ALBERT's norms are shared as its matrices are"
    if pattern != "none":
        assert body(True) == stored * LAYER_MATRICES + 6 * 2 * NORM


@pytest.mark.parametrize("pattern", PATTERNS)
def test_sharing_saves_parameters_and_no_flops(pattern: Any) -> None:
    shared, plain = (count_parameters(sharing(4, kind), T) for kind in (pattern, "none"))
    assert shared.total < plain.total and shared.flops_per_token == plain.flops_per_token


def test_a_stored_layer_starts_as_the_layer_of_that_number_does() -> None:
    shared, plain = sharing(4, {"cycle": 2}).state_dict(), tiny_model(TIED, num_layers=4).state_dict()
    assert all(torch.equal(value, plain[name]) for name, value in shared.items())


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ({"layer_sharing": "some"}, 'layer_sharing: "some": must be none, all, {cycle: k} or {groups: k}'),
        ({"layer_sharing": None}, "must be none, all, {cycle: k} or {groups: k}"),
        ({"layer_sharing": {"cycle": 0}}, "layer_sharing.cycle: 0: must be above 0"),
        ({"layer_sharing": {"cycle": 2, "groups": 2}}, "layer_sharing: give one of cycle and groups"),
        ({"layer_sharing": {}}, "give one of cycle and groups"),
        ({"layer_sharing": {"groups": 5}}, "layer_sharing 5 is more than the 4 layers"),
        ({"separate_norms": True}, "separate_norms means nothing to layer_sharing: none"),
        ({"separate_norms": False}, "separate_norms means nothing to layer_sharing: none"),
    ],
)
def test_what_is_no_order_is_refused_in_plain_words(keys: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        shape(TIED, num_layers=4, **keys)
    assert complaint in str(refused.value)
    assert len(refused.value.problems) == 1


def test_a_config_is_written_in_full_and_reads_back_the_same() -> None:
    for pattern in ("none", *PATTERNS):
        config = shape(TIED, num_layers=4, layer_sharing=pattern)
        assert config.separate_norms is (None if pattern == "none" else False)
        assert parse(TransformerConfig, config.model_dump(mode="json")) == config


def test_a_run_with_shared_layers_ends_as_any_run(tmp_path: Path) -> None:
    keys = "model.num_layers=3", "model.layer_sharing={cycle: 2}", "model.separate_norms=true"
    run = small_run(tmp_path, *keys)
    result = carry_out(run)
    assert result.parameters == count_model(run.config.model, 257, 16, 16)
    assert result.config["model"]["layer_sharing"] == {"cycle": 2, "groups": None}
    assert result.last_loss < result.first_loss


def test_shared_layers_cannot_be_matched_by_more_of_them(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path, "model.num_layers=3", "model.layer_sharing=all", "match=parameters")
    with pytest.raises(ConfigError, match="no number of layers"):
        with_matches(experiment, lambda config: count_model(config.model, 257, 16, 16))
