"""The input embedding as a matrix to look at, of every strategy."""

import pytest
import torch
from pydantic import TypeAdapter

from tests.support.strategies import STRATEGIES
from tiedlm.initialization import initialize
from tiedlm.tying.base import Tying
from tiedlm.tying.build import build_tying
from tiedlm.tying.config import TyingConfig

V, D = 31, 8


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda raw: "-".join(map(str, raw.values())))
def test_the_input_embedding_is_what_is_embedded_before_scale_and_norm(strategy: dict[str, object]) -> None:
    raw = strategy | {"embedding_dropout": 0.5, "embedding_noise": 0.1}
    config: TyingConfig = TypeAdapter(TyingConfig).validate_python(raw)
    tying = build_tying(config, V, D, torch.arange(V).remainder(5))
    initialize(tying, 0)
    weight, ids = tying.input_weight(), torch.arange(V).view(1, V)
    assert weight.shape == (V, D) and not weight.requires_grad
    scale = D**0.5 if strategy.get("input_scale") == "sqrt_dim" else 1.0
    torch.testing.assert_close(tying.eval().embed(ids)[0].detach(), weight * scale)
    assert torch.equal(Tying.input_weight(tying), tying.embed(ids)[0]), "the default: the vectors of the body"
