"""Counts by part, FLOPs of a token and hashes, for strategies known and unknown."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tiedlm.initialization import Draw, normal_
from tiedlm.model.config import TransformerConfig
from tiedlm.model.counts import PARTS
from tiedlm.model.language_model import LanguageModel, build_model
from tiedlm.model.parameters import count_parameters, hash_body, hash_input_embedding, parameter_parts
from tiedlm.tying.base import Tying
from tiedlm.tying.config import EmbeddingConfig

V, D, E, T = 97, 16, 5, 32
MATRIX = V * D


def configure(**changes: Any) -> TransformerConfig:
    return TransformerConfig.model_validate({"num_layers": 2, "dim": D, "num_heads": 4, **changes})


def build(**changes: Any) -> LanguageModel:
    model = build_model(configure(**changes), V, T)
    model.initialize(seed=0)
    return model


class TwoTables(Tying):
    """No strategy of the package: vectors are the sum of two tables, the second scores, a third one waits."""

    def __init__(self) -> None:
        super().__init__(EmbeddingConfig(), V, D)
        self.first, self.second, self.waiting = (nn.Parameter(torch.empty(V, D)) for _ in range(3))

    def embed(self, ids: Tensor) -> Tensor:
        return self.lookup(self.first, ids) + self.lookup(self.second, ids)

    def output_weight(self) -> Tensor:
        return self.second.view_as(self.second)

    def initialize(self, draw: Draw) -> None:
        for name, table in self.named_parameters():
            normal_(table, 0.02, draw(name))


class Factored(Tying):
    """No strategy of the package: a narrow table, and one map that widens on the way in and narrows on the way out."""

    def __init__(self) -> None:
        super().__init__(EmbeddingConfig(), V, D)
        self.table, self.map = nn.Parameter(torch.empty(V, E)), nn.Parameter(torch.empty(E, D))

    def embed(self, ids: Tensor) -> Tensor:
        return self.lookup(self.table, ids) @ self.map

    def output_weight(self) -> Tensor:
        return self.table.view_as(self.table)

    def project(self, hidden: Tensor) -> Tensor:
        return hidden @ self.map.T

    def forward_flops_per_token(self) -> int:
        return 2 * 2 * self.map.numel()


def with_tying(tying: Tying) -> LanguageModel:
    model = build()
    model.tying = tying
    return model


@pytest.mark.parametrize(
    ("tying", "expected"),
    [
        ({"type": "tied"}, {"shared_embedding": MATRIX}),
        ({"type": "tied", "output_bias": True}, {"shared_embedding": MATRIX, "output_bias": V}),
        ({"type": "untied"}, {"input_embedding": MATRIX, "output_embedding": MATRIX}),
        (
            {"type": "untied", "output_init": "copy", "output_bias": True},
            {"input_embedding": MATRIX, "output_embedding": MATRIX, "output_bias": V},
        ),
    ],
    ids=str,
)
def test_each_strategy_has_its_parts(tying: dict[str, Any], expected: dict[str, int]) -> None:
    counts = count_parameters(build(tying=tying), T)
    embeddings = {part: counts.parts[part] for part in PARTS if "embedding" in part or part == "output_bias"}
    assert {part: number for part, number in embeddings.items() if number} == expected


def test_the_rest_is_what_the_formulas_say() -> None:
    counts = count_parameters(build(feed_forward_dim=40), T)
    layer = 4 * D * D + 4 * D + 2 * D * 40 + 40 + D + 2 * 2 * D  # attention, feed-forward, two norms; all with biases
    assert counts.parts["body"] == 2 * layer
    assert counts.parts["final_norm"] == 2 * D and counts.parts["positions"] == T * D
    assert counts.non_embedding == 2 * layer + 2 * D


@pytest.mark.parametrize("positions", ["learned", "rope", "sinusoidal", "none"])
@pytest.mark.parametrize("tying", ["tied", "untied"])
def test_parts_hold_every_parameter_once(tying: str, positions: str) -> None:
    model = build(tying={"type": tying, "output_bias": True}, positions=positions)
    parts = parameter_parts(model)
    assert tuple(parts) == PARTS
    members = [id(parameter) for part in parts.values() for parameter in part]
    assert sorted(members) == sorted(id(parameter) for parameter in model.parameters())
    counts = count_parameters(model, T)
    assert sum(counts.parts.values()) == counts.total == sum(map(torch.numel, model.parameters()))
    assert (counts.parts["positions"] > 0) == (positions == "learned")


def test_a_strategy_need_not_declare_what_it_shares() -> None:
    model = with_tying(TwoTables())
    tying = model.tying
    assert isinstance(tying, TwoTables)
    parts = parameter_parts(model)
    assert parts["input_embedding"] == [tying.first]
    assert parts["shared_embedding"] == [tying.second]
    assert parts["output_embedding"] == [tying.waiting]


def test_a_map_used_on_both_sides_is_shared() -> None:
    parts = count_parameters(with_tying(Factored()), T).parts
    assert (parts["shared_embedding"], parts["input_embedding"], parts["output_embedding"]) == (V * E + E * D, 0, 0)


def test_counting_works_without_gradients_and_without_values() -> None:
    here = count_parameters(build(), T)
    with torch.no_grad():
        assert count_parameters(build(), T) == here
    with torch.device("meta"):
        model = build_model(configure(), V, T)
    assert all(parameter.is_meta for parameter in model.parameters())
    assert count_parameters(model, T) == here


def test_counting_leaves_the_model_as_it_was() -> None:
    model = build(dropout=0.5)
    before, state = hash_body(model), torch.get_rng_state()
    count_parameters(model, T)
    assert hash_body(model) == before and torch.get_rng_state().equal(state) and model.training
    assert all(parameter.grad is None for parameter in model.parameters())


def test_the_head_costs_the_same_tied_or_not() -> None:
    tied, untied = (count_parameters(build(tying={"type": name}), T).flops_per_token for name in ("tied", "untied"))
    assert tied == untied
    headless = 3 * build().body.forward_flops_per_token(T)
    assert tied - headless == 6 * MATRIX


def test_a_narrow_table_makes_a_cheaper_head_and_pays_for_its_map_each_way() -> None:
    factored, plain = count_parameters(with_tying(Factored()), T), count_parameters(build(), T)
    assert factored.flops_per_token - plain.flops_per_token == 6 * (V * E + 2 * E * D - MATRIX)


def test_the_body_hash_sees_every_value_of_positions_body_and_final_norm() -> None:
    model = build()
    hashes = {hash_body(model)}
    names = [name for name, _ in model.named_parameters() if not name.startswith("tying.")]
    for name in names:
        with torch.no_grad():
            model.get_parameter(name).view(-1)[-1].add_(1e-3)
        hashes.add(hash_body(model))
    assert len(hashes) == len(names) + 1
    with torch.no_grad():
        model.get_parameter("tying.input_embedding").zero_()
    assert hash_body(model) in hashes


def test_the_input_embedding_hash_is_of_the_matrix_alone() -> None:
    tied, untied = build(tying={"type": "tied", "input_scale": 2.0}), build(tying={"type": "untied"})
    assert hash_input_embedding(tied) == hash_input_embedding(untied)
    with torch.no_grad():
        untied.get_parameter("tying.output_embedding").zero_()
        assert hash_input_embedding(tied) == hash_input_embedding(untied)
        untied.get_parameter("tying.input_embedding")[0, 0] += 1
        assert hash_input_embedding(tied) != hash_input_embedding(untied)


def test_without_one_input_matrix_there_is_no_hash_of_it() -> None:
    for tying in (TwoTables(), Factored()):
        assert hash_input_embedding(with_tying(tying)) is None
