"""What treats every variant's scores and gradients alike: off unless asked for, each against its formula."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.support.tying_runs import TIED, UNTIED, T, V, tiny_model
from tiedlm.config.base import ConfigError, parse
from tiedlm.model.config import LstmConfig
from tiedlm.model.language_model import LanguageModel, build_model
from tiedlm.model.parameters import count_parameters, hash_body, hash_input_embedding
from tiedlm.model.state import State

WIDE: dict[str, Any] = {"init_std": 1.0}  # scores of some units, so that a cap of 2 is felt
STRATEGIES = pytest.mark.parametrize(
    "tying",
    [
        {**TIED, **WIDE, "output_bias": True, "output_bias_std": 0.5},
        {**UNTIED, **WIDE},
        {"type": "projected", **WIDE},
        {"type": "factorized", "width": 5, **WIDE},
    ],
    ids=lambda raw: raw["type"],
)


def batch() -> tuple[Tensor, Tensor]:
    ids, targets = torch.randint(0, V, (2, 4, T), generator=torch.Generator().manual_seed(0))
    targets[-1, -5:] = -100
    return ids, targets


def lstm(**keys: Any) -> LanguageModel:
    model = build_model(parse(LstmConfig, {"num_layers": 1, "dim": 16, **keys}), V, T)
    model.initialize(0)
    return model


@STRATEGIES
def test_a_softcap_is_in_every_figure_of_a_model_and_in_its_gradients(tying: dict[str, Any]) -> None:
    plain, capped = tiny_model(tying).double(), tiny_model(tying, logit_softcap=2.0).double()
    ids, targets = batch()
    scores = 2 * torch.tanh(plain.logits(ids) / 2)
    assert plain.logits(ids).abs().max() > 2
    torch.testing.assert_close(capped.logits(ids), scores)
    torch.testing.assert_close(capped.next_logits(ids), scores[:, -1])
    each = F.cross_entropy(scores.flatten(0, 1), targets.flatten(), reduction="none").view_as(targets)
    torch.testing.assert_close(capped.token_nll(ids, targets), each.detach())
    nll, mass = capped.token_nll_and_mass(ids, targets, F.one_hot(torch.arange(V) % 2))
    assert torch.equal(nll, capped.token_nll(ids, targets))
    torch.testing.assert_close(mass[..., 0], scores.softmax(-1)[..., ::2].sum(-1).detach() * (targets != -100))
    torch.testing.assert_close(capped.nll(ids, targets), each.sum())
    capped.nll(ids, targets).backward(), each.sum().backward()
    expected = dict(plain.named_parameters())
    for name, parameter in capped.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name].grad, rtol=1e-8, atol=1e-10)


def test_a_recurrent_model_is_capped_too() -> None:
    ids, targets = batch()
    plain, capped = lstm(tying={**TIED, "init_std": 20.0}), lstm(tying={**TIED, "init_std": 20.0}, logit_softcap=2.0)
    scores = 2 * torch.tanh(plain.logits(ids) / 2)
    assert plain.logits(ids).abs().max() > 2
    torch.testing.assert_close(capped.logits(ids), scores)
    expected = F.cross_entropy(scores.flatten(0, 1), targets.flatten(), reduction="sum")
    torch.testing.assert_close(capped.nll(ids, targets, State()), expected)


@STRATEGIES
@pytest.mark.parametrize("positions", ["learned", "rope"])
def test_the_residual_adds_the_input_vectors_to_the_final_hidden_state(tying: dict[str, Any], positions: str) -> None:
    plain = tiny_model(tying, positions=positions).double()
    residual = tiny_model(tying, positions=positions, embedding_residual=True).double()
    ids, _ = batch()
    expected = plain(ids) + plain.tying.embed(ids)
    torch.testing.assert_close(residual(ids), expected)
    weight, bias = plain.tying.output_weight(), plain.tying.output_bias()
    torch.testing.assert_close(residual.logits(ids), F.linear(plain.tying.project(expected), weight, bias))


def test_the_residual_of_a_recurrent_model_goes_on_with_its_state() -> None:
    plain, residual = lstm().double(), lstm(embedding_residual=True).double()
    ids, _ = batch()
    torch.testing.assert_close(residual(ids), plain(ids) + plain.tying.embed(ids))
    state = State()
    halves = [residual(half, state) for half in ids.chunk(2, dim=1)]
    torch.testing.assert_close(torch.cat(halves, dim=1), residual(ids))


def test_the_residual_is_of_the_vectors_that_the_body_reads_whatever_was_done_to_them() -> None:
    """One draw of what is dropped and of the noise, for both ways."""
    tying = {**TIED, "embedding_norm": "rmsnorm", "embedding_noise": 0.3, "embedding_dropout": 0.3}
    plain, residual = tiny_model(tying).double(), tiny_model(tying, embedding_residual=True).double()
    ids, _ = batch()
    torch.manual_seed(1)
    vectors = plain.tying.embed(ids)
    torch.manual_seed(1)
    without = plain(ids)
    torch.manual_seed(1)
    torch.testing.assert_close(residual(ids), without + vectors)


@STRATEGIES
def test_neither_moves_the_start_or_the_parameters(tying: dict[str, Any]) -> None:
    plain, treated = tiny_model(tying), tiny_model(tying, logit_softcap=2.0, embedding_residual=True)
    assert hash_body(plain) == hash_body(treated)
    assert hash_input_embedding(plain) == hash_input_embedding(treated)
    assert count_parameters(plain, T) == count_parameters(treated, T)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"logit_softcap": 0.0}, r"logit_softcap: .*above 0"),
        ({"logit_softcap": "30"}, r"logit_softcap"),
        ({"embedding_residual": 1}, r"embedding_residual"),
    ],
    ids=str,
)
def test_a_value_out_of_its_range_is_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tiny_model(TIED, **keys)
    with pytest.raises(ConfigError, match=message):
        lstm(**keys)
