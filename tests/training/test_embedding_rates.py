"""The embeddings' own learning rates, betas and epsilon: each against its formula."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.one_step import PLAIN, assert_close, gradients, moved, of_embeddings
from tests.support.small_runs import small_experiment
from tests.support.tying_runs import TIED, UNTIED, D, losses, state, tiny_training
from tiedlm.config.base import ConfigError, parse
from tiedlm.run.config import RunConfig

ENDS = pytest.mark.parametrize("tying", [TIED, UNTIED], ids=["tied", "untied"])


@ENDS
@pytest.mark.parametrize("factor", [0.0, 0.25, 3.0])
def test_the_embeddings_go_at_their_own_rate(tying: dict[str, Any], factor: float) -> None:
    keys: dict[str, Any] = {**PLAIN, "embedding_weight_decay": 0.1}
    plain, treated = tiny_training(tying, **keys), tiny_training(tying, **keys, embedding_learning_rate_factor=factor)
    expected, found = moved(plain), moved(treated)
    assert_close(of_embeddings(found), {name: factor * way for name, way in of_embeddings(expected).items()})
    assert_close(of_embeddings(found, others=True), of_embeddings(expected, others=True), 0.0)
    assert plain.advance().learning_rate == treated.advance().learning_rate == 1.0


def test_a_factor_may_be_the_root_of_the_width() -> None:
    one, other = (
        tiny_training(UNTIED, **PLAIN, embedding_learning_rate_factor=factor) for factor in ("sqrt_dim", D**0.5)
    )
    assert_close(moved(one), moved(other), 0.0)


@pytest.mark.parametrize("factor", [0.0, 3.0])
def test_what_the_output_embedding_alone_has_goes_at_a_rate_of_its_own(factor: float) -> None:
    keys = {**PLAIN, "embedding_learning_rate_factor": 2.0}
    plain, treated = tiny_training(UNTIED, **keys), tiny_training(UNTIED, **keys, output_learning_rate_factor=factor)
    expected = moved(plain)
    expected["tying.output_embedding"] *= factor / 2
    assert_close(moved(treated), expected)


def test_at_a_factor_of_zero_the_embeddings_stay_and_the_body_learns() -> None:
    training = tiny_training(UNTIED, num_steps=40, embedding_weight_decay=0.1, embedding_learning_rate_factor=0.0)
    first, *_, last = losses(training, 40)
    start = state(tiny_training(UNTIED).model)
    assert all(torch.equal(value, start[name]) for name, value in of_embeddings(state(training.model)).items())
    assert last < first


@ENDS
def test_adams_first_step_has_the_embeddings_own_epsilon(tying: dict[str, Any]) -> None:
    """Corrected for their start the first moments are g and g^2: the step is g / (|g| + eps)."""
    keys = {**PLAIN, "optimizer": "adamw", "momentum": None, "learning_rate": 1e-3, "eps": 1e-8}
    training = tiny_training(tying, **keys, embedding_eps=1e-2)
    expected = {}
    for name, gradient in gradients(training).items():
        eps = 1e-2 if of_embeddings({name: gradient}) else 1e-8
        expected[name] = 1e-3 * gradient / (gradient.abs() + eps)
    expected = {name: way for name, way in expected.items() if of_embeddings({name: way}) or "norm" in name}
    assert len(expected) > 2, "gradients of other vectors are too near 0 to tell their sign"
    assert_close(moved(training), expected, 2e-6)


@ENDS
def test_the_embeddings_have_adams_betas_of_their_own(tying: dict[str, Any]) -> None:
    """Adam's first step does not depend on its betas, so that the second starts from the same weights everywhere."""
    keys = {**PLAIN, "optimizer": "adamw", "momentum": None, "betas": [0.9, 0.95], "learning_rate": 1e-3}
    plain, treated, everywhere = (
        moved(tiny_training(tying, **{**keys, **own}), 2)
        for own in ({}, {"embedding_betas": [0.5, 0.5]}, {"betas": [0.5, 0.5]})
    )
    assert_close(of_embeddings(treated), of_embeddings(everywhere), 1e-6)
    assert_close(of_embeddings(treated, others=True), of_embeddings(plain, others=True), 1e-6)
    apart = [(plain[name] - everywhere[name]).abs().max() for name in plain]
    assert min(apart) > 1e-5, "the betas matter to every parameter"


@pytest.mark.parametrize("tying", [TIED, {"type": "factorized", "width": 8, "share": "table_and_map"}], ids=str)
def test_a_rate_of_the_output_alone_is_refused_where_nothing_belongs_to_it_alone(
    tmp_path: Path, tying: dict[str, Any]
) -> None:
    config = small_experiment(tmp_path).variants["untied"]
    raw = config.model_dump(mode="json")
    raw["training"]["output_learning_rate_factor"] = 2.0
    assert parse(RunConfig, raw).training.output_learning_rate_factor == 2.0
    raw["model"]["tying"] = tying
    with pytest.raises(
        ConfigError, match=f"output_learning_rate_factor means nothing to model.tying.type: {tying['type']}"
    ):
        parse(RunConfig, raw)


@pytest.mark.parametrize("key", ["init_std", "output_init_std"])
def test_a_start_may_be_one_over_the_root_of_the_width(key: str) -> None:
    named, numbered = (tiny_training({**UNTIED, key: std}).model for std in ("inverse_sqrt_dim", D**-0.5))
    assert all(torch.equal(value, state(numbered)[name]) for name, value in state(named).items())
    assert any(not torch.equal(value, state(tiny_training(UNTIED).model)[name]) for name, value in state(named).items())
