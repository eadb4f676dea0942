"""Each strategy at the ends of its dial is tied or untied, and says so by formula in between."""

import math
from typing import Any

import pytest
import torch

from tests.support.tying_runs import (
    FREQUENCIES,
    TIED,
    UNTIED,
    D,
    V,
    assert_same_function,
    assert_same_training,
    losses,
    state,
    tiny_model,
    tiny_training,
)
from tiedlm.model.language_model import LanguageModel
from tiedlm.tying.partial import PartialVocabulary

NOTHING_SHARED: list[dict[str, Any]] = [
    {"type": "partial_vocabulary", "shared": 0},
    {"type": "partial_vocabulary", "shared": 0.0, "share": "rare"},
    {"type": "partial_dimensions", "shared": 0},
    {"type": "soft", "strength": 1e-30},
    {"type": "progressive", "switch_at": 1.0, "penalty_from": 1.0},
    {"type": "progressive", "strength": 1e-30, "penalty_from": 0.2, "switch_at": 1.0},
]
ALL_SHARED: list[dict[str, Any]] = [
    {"type": "partial_vocabulary", "shared": V},
    {"type": "partial_vocabulary", "shared": 1.0, "share": "rare"},
    {"type": "partial_dimensions", "shared": D},
    {"type": "progressive", "direction": "untie", "switch_at": 1.0},
    {"type": "progressive", "switch_at": 0.0, "penalty_from": 0.0, "output_init": "copy"},
]


def named(raw: dict[str, Any]) -> str:
    return "-".join(map(str, raw.values()))


def embeddings(model: LanguageModel) -> tuple[torch.Tensor, torch.Tensor]:
    """The matrix that ids are looked up in, and the one that scores (both V, D), detached."""
    return model.tying.embed(torch.arange(V)[None])[0].detach(), model.tying.output_weight().detach()


@pytest.mark.parametrize("tying", NOTHING_SHARED, ids=named)
def test_nothing_shared_trains_as_untied_to_the_last_bit(tying: dict[str, Any]) -> None:
    assert_same_training(tiny_training(tying), tiny_training(UNTIED))


@pytest.mark.parametrize("tying", ALL_SHARED, ids=named)
def test_everything_shared_trains_as_tied_to_the_last_bit(tying: dict[str, Any]) -> None:
    assert_same_training(tiny_training(tying, max_grad_norm=None), tiny_training(TIED, max_grad_norm=None))


def test_an_untie_at_the_very_start_trains_as_two_matrices_that_start_equal() -> None:
    late = {"type": "progressive", "direction": "untie", "switch_at": 0.0}
    assert_same_training(tiny_training(late), tiny_training({**UNTIED, "output_init": "copy"}))


@pytest.mark.parametrize("type_", ["partial_vocabulary", "partial_dimensions"])
@pytest.mark.parametrize("shared", [0, 0.3, 5, 0.9])
def test_what_is_shared_starts_tied_and_the_rest_starts_untied(type_: str, shared: float) -> None:
    partial = tiny_model({"type": type_, "shared": shared})
    given, scored = embeddings(partial)
    alone, theirs = embeddings(tiny_model(UNTIED))
    assert torch.equal(given, alone)
    is_tied, is_untied = scored == given, scored == theirs
    assert torch.all(is_tied ^ is_untied)
    total, per_row = (V, False) if type_ == "partial_vocabulary" else (D, True)
    lines = is_tied.all(0) if per_row else is_tied.all(1)
    assert int(lines.sum()) == (shared if isinstance(shared, int) else round(shared * total))
    assert int(is_tied.sum()) == int(lines.sum()) * (V * D // total), "whole rows or whole columns"


@pytest.mark.parametrize("type_", ["partial_vocabulary", "partial_dimensions"])
def test_what_is_shared_stays_tied_and_the_rest_parts(type_: str) -> None:
    training = tiny_training({"type": type_, "shared": 0.5, "output_init": "copy"})
    assert_same_function(training.model, tiny_model(TIED))
    before = embeddings(training.model)[1] == embeddings(training.model)[0]
    assert before.all()
    losses(training, 3)
    given, scored = embeddings(training.model)
    equal = (given == scored).all(1) if type_ == "partial_vocabulary" else (given == scored).all(0)
    assert int(equal.sum()) == round(0.5 * len(equal))


@pytest.mark.parametrize("share", ["frequent", "rare"])
def test_rows_are_shared_by_frequency_and_of_equal_ones_by_id(share: str) -> None:
    assert len(set(FREQUENCIES.tolist())) < V, "there must be ties to break"
    by_hand = sorted(range(V), key=lambda token: (-int(FREQUENCIES[token]), token))
    for number in (1, 10, 60):
        shared = by_hand[:number] if share == "frequent" else by_hand[V - number :]
        tying = tiny_model({"type": "partial_vocabulary", "shared": number, "share": share}).tying
        assert isinstance(tying, PartialVocabulary)
        assert tying.own_ids.tolist() == sorted({*range(V)} - {*shared})


def test_frequencies_come_from_the_text_and_not_from_the_ids() -> None:
    assert not torch.equal(FREQUENCIES.argsort(descending=True, stable=True), torch.arange(V))


@pytest.mark.parametrize("norm", ["fro", "mean_square"])
def test_a_soft_penalty_and_its_gradients_follow_their_formula(norm: str) -> None:
    tying = tiny_model({"type": "soft", "strength": 3.0, "norm": norm}).double().tying
    one, other = tying.parameters()
    difference = (one - other).detach()
    length = math.sqrt(float(difference.square().sum()))
    penalty = tying.penalty()
    assert penalty is not None
    penalty.backward()
    if norm == "fro":
        expected, gradient = 3 * length, 3 * difference / length
    else:
        expected, gradient = 3 * length**2 / (V * D), 3 * 2 * difference / (V * D)
    assert penalty.item() == pytest.approx(expected, rel=1e-12)
    torch.testing.assert_close(one.grad, gradient)
    torch.testing.assert_close(other.grad, -gradient)


@pytest.mark.parametrize("norm", ["fro", "mean_square"])
def test_two_equal_matrices_are_drawn_nowhere(norm: str) -> None:
    tying = tiny_model({"type": "soft", "norm": norm, "output_init": "copy"}).tying
    penalty = tying.penalty()
    assert penalty is not None and penalty.item() == 0
    penalty.backward()
    assert all(parameter.grad is not None and not parameter.grad.any() for parameter in tying.parameters())


def test_the_stronger_the_penalty_the_nearer_the_matrices() -> None:
    apart = []
    for strength in (1e-6, 0.1, 10.0):
        training = tiny_training({"type": "soft", "strength": strength}, num_steps=60)
        losses(training, 60)
        given, scored = embeddings(training.model)
        apart.append(float((given - scored).norm() / given.norm()))
    assert apart[0] > 2 * apart[1] > 4 * apart[2]


def test_a_projection_that_starts_as_the_identity_starts_as_tied() -> None:
    projected, tied = tiny_training({"type": "projected"}), tiny_training(TIED)
    assert_same_function(projected.model, tied.model)
    assert projected.advance().loss == tied.advance().loss
    assert projected.advance().loss != tied.advance().loss, "from then on the map is trained"


def test_a_projection_is_map_bias_activation_and_norm_in_this_order() -> None:
    options = {"projection_init": "normal", "bias": True, "activation": "gelu", "norm": True, "strength": 0.5}
    tying = tiny_model({"type": "projected", **options}).double().tying
    with torch.no_grad():
        for parameter in tying.parameters():
            parameter.add_(torch.randn_like(parameter))  # away from ones and zeros
    _, weight, bias, scale, shift = tying.parameters()
    hidden = torch.randn(3, 4, D, dtype=torch.float64)
    mapped = hidden @ weight.T + bias
    active = mapped * (1 + torch.erf(mapped / math.sqrt(2))) / 2
    deviation = (active.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
    expected = (active - active.mean(-1, keepdim=True)) / deviation * scale + shift
    torch.testing.assert_close(tying.project(hidden), expected)
    penalty = tying.penalty()
    assert penalty is not None
    assert penalty.item() == pytest.approx(0.5 * math.sqrt(float(weight.detach().square().sum())), rel=1e-12)


def test_a_normal_projection_keeps_the_scale_of_what_it_maps() -> None:
    tying = tiny_model({"type": "projected", "projection_init": "normal"}, dim=256, num_heads=4).tying
    hidden = torch.randn(500, 256)
    assert (tying.project(hidden).square().mean() / hidden.square().mean()).item() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("share", ["table", "table_and_map", "nothing"])
@pytest.mark.parametrize("width", [5, 32])
def test_a_factorization_is_the_untied_model_of_its_products(share: str, width: int) -> None:
    """Tables and maps multiplied out give two (V, D) matrices, and those the same hidden states and scores."""
    factored = tiny_model({"type": "factorized", "width": width, "share": share}).double()
    tables = {name: parameter.detach() for name, parameter in factored.tying.named_parameters()}
    on_the_way_in = tables["input_table"] @ tables["input_map"].T
    back = tables.get("output_map", tables["input_map"].T)
    on_the_way_out = tables.get("output_table", tables["input_table"]) @ back
    untied = tiny_model(UNTIED).double()
    with torch.no_grad():
        untied.get_parameter("tying.input_embedding").copy_(on_the_way_in)
        untied.get_parameter("tying.output_embedding").copy_(on_the_way_out)
    ids = torch.arange(V)[None, :30]
    torch.testing.assert_close(factored(ids), untied(ids))
    torch.testing.assert_close(factored.logits(ids), untied.logits(ids))
    assert (share == "table_and_map") == torch.allclose(on_the_way_in, on_the_way_out)
    number = {"table": V * width + 2 * D * width, "table_and_map": (V + D) * width, "nothing": 2 * (V + D) * width}
    assert sum(map(torch.numel, factored.tying.parameters())) == number[share]


def test_a_factorization_as_wide_as_the_model_with_maps_that_do_nothing_is_tied() -> None:
    factored, tied = tiny_model({"type": "factorized", "width": D}), tiny_model(TIED)
    with torch.no_grad():
        for name in ("input_map", "output_map"):
            torch.nn.init.eye_(factored.get_parameter(f"tying.{name}"))
        factored.get_parameter("tying.input_table").copy_(tied.get_parameter("tying.input_embedding"))
    assert_same_function(factored, tied)


@pytest.mark.parametrize("share", ["table", "table_and_map", "nothing"])
@pytest.mark.parametrize("width", [64, 512])
def test_a_factorization_starts_at_the_scale_of_tied(share: str, width: int) -> None:
    hidden = torch.randn(200, 256)

    def scales(tying: dict[str, Any]) -> list[float]:
        module = tiny_model(tying, dim=256, num_heads=4).tying
        scores = module.project(hidden) @ module.output_weight().T
        return [module.embed(torch.arange(V)[None]).std().item(), scores.std().item()]

    assert scales({"type": "factorized", "width": width, "share": share}) == pytest.approx(scales(TIED), rel=0.15)


def test_a_tied_run_is_not_an_untied_one() -> None:
    """Else the equalities above would say nothing."""
    tied, untied = tiny_training(TIED), tiny_training(UNTIED)
    assert losses(tied, 3) != losses(untied, 3)
    assert state(tied.model).keys() != state(untied.model).keys()
