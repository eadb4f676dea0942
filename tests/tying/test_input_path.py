"""What may happen to the input vectors, each against its formula and off unless asked for."""

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.tying_runs import (
    FREQUENCIES,
    TIED,
    UNTIED,
    T,
    V,
    assert_same_training,
    losses,
    tiny_model,
    tiny_training,
)
from tiedlm.config.base import ConfigError
from tiedlm.model.language_model import LanguageModel
from tiedlm.model.parameters import count_parameters, hash_body, hash_input_embedding
from tiedlm.tying.base import Tying

IDS = torch.arange(V)[None]
ALL: dict[str, Any] = {
    "embedding_norm": "layernorm",
    "embedding_dropout": 0.2,
    "embedding_noise": 0.1,
    "input_gradient_factor": 0.5,
    "input_scale": "sqrt_dim",
}
EVERYWHERE = pytest.mark.parametrize(
    "tying",
    [TIED, UNTIED, {"type": "partial_vocabulary", "shared": 9}, {"type": "factorized", "width": 5}],
    ids=lambda raw: raw["type"],
)


def gradients(model: LanguageModel, ids: Tensor, targets: Tensor) -> dict[str, Tensor]:
    model.zero_grad()
    model.nll(ids, targets).backward()
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}


def batch() -> tuple[Tensor, Tensor]:
    ids, targets = torch.randint(0, V, (2, 4, T), generator=torch.Generator().manual_seed(0))
    return ids, targets


@EVERYWHERE
def test_what_is_not_asked_for_changes_nothing(tying: dict[str, Any]) -> None:
    off = {"embedding_norm": None, "embedding_dropout": 0.0, "embedding_noise": 0.0, "input_gradient_factor": 1.0}
    assert_same_training(tiny_training(tying), tiny_training({**tying, **off}), 2)


@EVERYWHERE
def test_it_moves_neither_the_start_nor_the_parameters_nor_the_scores(tying: dict[str, Any]) -> None:
    plain, treated = tiny_model(tying), tiny_model({**tying, **ALL})
    assert hash_body(plain) == hash_body(treated)
    assert hash_input_embedding(plain) == hash_input_embedding(treated)
    assert count_parameters(plain, T) == count_parameters(treated, T)
    assert torch.equal(plain.tying.output_weight(), treated.tying.output_weight())


@pytest.mark.parametrize("norm", ["layernorm", "rmsnorm"])
def test_a_norm_makes_vectors_of_one_size(norm: str) -> None:
    plain, normed = (tiny_model({**TIED, **keys}).double().tying for keys in ({}, {"embedding_norm": norm}))
    vectors = plain.embed(IDS)
    centered = vectors - vectors.mean(-1, keepdim=True) if norm == "layernorm" else vectors
    expected = centered / (centered.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(normed.embed(IDS), expected)
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        assert normed.float().embed(IDS).dtype is torch.float32


def test_dropout_takes_whole_tokens_of_the_vocabulary_wherever_they_stand() -> None:
    plain, dropping = tiny_model(TIED).tying, tiny_model({**TIED, "embedding_dropout": 0.4}).tying
    ids = IDS.repeat(3, 1)
    torch.manual_seed(0)
    vectors, expected = dropping.embed(ids), plain.embed(ids)
    gone = (vectors == 0).all(-1)
    assert torch.equal(gone[0], gone[1]) and torch.equal(gone[0], gone[2])
    torch.testing.assert_close(vectors[~gone], expected[~gone] / 0.6)
    shares = [(dropping.embed(IDS) == 0).all(-1).double().mean() for _ in range(200)]
    # 200 x 97 draws: the share lies within 5 standard errors of 0.4
    assert torch.stack(shares).mean().item() == pytest.approx(0.4, abs=5 * (0.24 / (200 * V)) ** 0.5)
    assert torch.equal(dropping.output_weight(), plain.output_weight())


def test_noise_has_the_deviation_that_it_says_and_is_drawn_anew() -> None:
    plain, noisy = (tiny_model({**TIED, **keys}, dim=64).tying for keys in ({}, {"embedding_noise": 0.3}))
    torch.manual_seed(0)
    noise = noisy.embed(IDS) - plain.embed(IDS)
    assert noise.std().item() == pytest.approx(0.3, rel=5 / (2 * V * 64) ** 0.5)
    assert abs(noise.mean().item()) < 5 * 0.3 / (V * 64) ** 0.5
    assert not torch.equal(noisy.embed(IDS) - plain.embed(IDS), noise)


def test_noise_and_dropout_are_of_training_alone_and_a_seed_repeats_them() -> None:
    keys = {"embedding_noise": 0.3, "embedding_dropout": 0.3}
    plain, treated = tiny_model(TIED).eval(), tiny_model({**TIED, **keys}).eval()
    assert torch.equal(plain.tying.embed(IDS), treated.tying.embed(IDS))
    one, other = tiny_training({**TIED, **keys}), tiny_training({**TIED, **keys})
    first = losses(one, 3)
    torch.manual_seed(77)  # what else draws must not matter
    assert losses(other, 3) == first != losses(tiny_training(TIED), 3)


@pytest.mark.parametrize("factor", [0.0, 0.25, 3.0])
def test_the_factor_on_the_input_gradient_acts_on_the_way_back_alone(factor: float) -> None:
    ids, targets = batch()
    plain = tiny_model(UNTIED).double()
    scaled = tiny_model({**UNTIED, "input_gradient_factor": factor}).double()
    assert torch.equal(plain.nll(ids, targets), scaled.nll(ids, targets))
    before, after = gradients(plain, ids, targets), gradients(scaled, ids, targets)
    for name, gradient in before.items():
        expected = gradient * factor if name == "tying.input_embedding" else gradient
        torch.testing.assert_close(after[name], expected)


def test_of_a_shared_matrix_the_factor_weighs_the_input_path_alone() -> None:
    ids, targets = batch()
    apart = gradients(tiny_model({**UNTIED, "output_init": "copy"}).double(), ids, targets)
    shared = gradients(tiny_model({**TIED, "input_gradient_factor": 0.25}).double(), ids, targets)
    expected = 0.25 * apart["tying.input_embedding"] + apart["tying.output_embedding"]
    torch.testing.assert_close(shared["tying.input_embedding"], expected)


def test_a_compiler_has_one_graph_of_the_lookup_whether_or_not_its_gradient_joins_another() -> None:
    """In two it would be slower, and for one matrix alone."""
    for keys in (TIED, UNTIED):
        tying = tiny_model(keys).tying
        assert torch.equal(torch.compile(tying.embed, backend="eager", fullgraph=True)(IDS), tying.embed(IDS))

        def both(ids: Tensor, tying: Tying = tying) -> tuple[Tensor, Tensor]:
            vectors, head = tying.embed_with_head(ids)
            return vectors, head.weight

        pairs = zip(torch.compile(both, backend="eager", fullgraph=True)(IDS), both(IDS), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)


def test_a_bias_starts_at_zero_or_with_the_deviation_that_is_asked_for() -> None:
    zero = tiny_model({**TIED, "output_bias": True}).tying.output_bias()
    wide = tiny_model({**TIED, "output_bias": True, "output_bias_std": 0.5}).tying.output_bias()
    assert zero is not None and wide is not None and not zero.any()
    assert wide.std().item() == pytest.approx(0.5, rel=5 / (2 * V) ** 0.5)


@pytest.mark.parametrize(
    "tying",
    [UNTIED, {"type": "partial_dimensions", "shared": 4}, {"type": "factorized", "width": 16, "share": "nothing"}],
    ids=lambda raw: raw["type"],
)
def test_xavier_fills_its_range_evenly_whatever_the_scale(tying: dict[str, Any]) -> None:
    started = [tiny_model({**tying, "init": "xavier_uniform", "init_std": std}).tying for std in (0.02, 3.0)]
    for name, table in started[0].named_parameters():
        if not name.endswith("_map"):
            assert torch.equal(table, dict(started[1].named_parameters())[name])
            bound = (6 / (V + 16)) ** 0.5
            assert table.abs().max() <= bound and table.abs().max() > 0.99 * bound
            assert table.std().item() == pytest.approx(bound / 3**0.5, rel=5 / (2 * table.numel()) ** 0.5)


@EVERYWHERE
def test_by_frequency_a_row_starts_smaller_the_more_often_its_token_comes(tying: dict[str, Any]) -> None:
    plain = tiny_model(tying).tying
    by_frequency = dict(tiny_model({**tying, "init": "by_frequency"}).tying.named_parameters())
    shares = FREQUENCIES.double() / FREQUENCIES.sum()
    scales = (1 / (1 + V * shares).sqrt()).float()
    assert scales.min() < 0.25 and scales.max() == 1, "some are frequent, some never come"
    whole = [name for name, table in plain.named_parameters() if len(table) == V]
    assert whole
    for name in whole:
        torch.testing.assert_close(by_frequency[name], dict(plain.named_parameters())[name] * scales[:, None])


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"embedding_dropout": 1.0}, "below 1"),
        ({"embedding_noise": -0.1}, "at least 0"),
        ({"input_gradient_factor": -1.0}, "at least 0"),
        ({"embedding_norm": "batch"}, "'layernorm' or 'rmsnorm'"),
        ({"output_bias_std": 0.1}, "output_bias_std needs output_bias: true"),
        ({"init": "xavier"}, "'normal', 'xavier_uniform' or 'by_frequency'"),
        ({**UNTIED, "init": "xavier_uniform", "output_init_std": 0.1}, "output_init_std means nothing to"),
    ],
    ids=str,
)
def test_a_value_out_of_its_range_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tiny_model({**TIED, **keys})


def test_each_of_them_trains() -> None:
    """Gradients stay finite and the loss falls, all of them together."""
    training = tiny_training({**TIED, **ALL}, num_steps=60)
    found = losses(training, 60)
    assert sum(found[-10:]) < sum(found[:10])
