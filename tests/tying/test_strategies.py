"""What every strategy keeps: the contract, and each strategy's limiting cases."""

import copy
import importlib
from pathlib import Path
from typing import Literal, get_args

import pytest
import torch
import torch.nn.functional as F
from pydantic import TypeAdapter
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import tiedlm.tying
from tests.support.strategies import STRATEGIES
from tiedlm.initialization import initialize
from tiedlm.tying.base import Tying
from tiedlm.tying.build import build_tying
from tiedlm.tying.config import EmbeddingConfig, TiedConfig, TyingConfig
from tiedlm.tying.tied import Tied

V, D = 31, 8
FREQUENCIES = torch.arange(V).remainder(5)
"""Of 31 tokens, six or seven for each of five frequencies."""


def build(raw: dict[str, object], seed: int = 0) -> Tying:
    config: TyingConfig = TypeAdapter(TyingConfig).validate_python(raw)
    tying = build_tying(config, V, D, FREQUENCIES)
    initialize(tying, seed)
    return tying


@pytest.fixture(params=STRATEGIES, ids=lambda raw: "-".join(str(value) for value in raw.values()))
def strategy(request: pytest.FixtureRequest) -> dict[str, object]:
    raw: dict[str, object] = request.param
    return raw


def test_shapes_and_types_are_those_of_the_contract(strategy: dict[str, object]) -> None:
    tying = build(strategy)
    ids = torch.randint(0, V, (2, 5))
    vectors, weight = tying.embed(ids), tying.output_weight()
    scored = tying.project(torch.randn(2, 5, D))
    assert vectors.shape == (2, 5, D) and vectors.dtype is torch.float32
    assert weight.shape == (V, scored.shape[-1]) and weight.dtype is torch.float32
    bias = tying.output_bias()
    assert bias is None or bias.shape == (V,)


def test_flops_are_those_that_a_counter_sees(strategy: dict[str, object]) -> None:
    tying = build(strategy)
    with FlopCounterMode(display=False) as counter:
        tying.project(tying.embed(torch.zeros(3, 2, dtype=torch.long)))
    assert counter.get_total_flops() == 6 * tying.forward_flops_per_token()


def test_every_parameter_is_owned_once_and_saved_once(strategy: dict[str, object]) -> None:
    tying = build(strategy)
    names = [name for name, _ in tying.named_parameters(remove_duplicate=False)]
    assert len(names) == len(dict(tying.named_parameters()))
    storages = [tensor.untyped_storage().data_ptr() for tensor in tying.state_dict().values()]
    assert len(storages) == len(set(storages))


def test_the_two_uses_are_distinct_views(strategy: dict[str, object]) -> None:
    tying = build(strategy)
    first, second = tying.output_weight(), tying.output_weight()
    assert first is not second
    assert all(first is not parameter for parameter in tying.parameters())


def test_equal_seeds_give_equal_input_embeddings_whatever_the_strategy(strategy: dict[str, object]) -> None:
    reference = build({"type": "tied"}).state_dict()["input_embedding"]
    if strategy["type"] == "factorized":  # the one without such a matrix
        assert all(parameter.shape != (V, D) for parameter in build(strategy).parameters())
        return
    assert torch.equal(build(strategy).state_dict()["input_embedding"], reference)
    assert not torch.equal(build(strategy, seed=1).state_dict()["input_embedding"], reference)


def test_meta_then_materialised_is_built_directly(strategy: dict[str, object]) -> None:
    config: TyingConfig = TypeAdapter(TyingConfig).validate_python(strategy)
    with torch.device("meta"):
        tying = build_tying(config, V, D, FREQUENCIES)
    tying.to_empty(device="cpu")
    initialize(tying, 0)
    direct = build(strategy)
    mine, theirs = tying.state_dict(), direct.state_dict()
    assert list(mine) == list(theirs)
    assert all(torch.equal(mine[name], theirs[name]) for name in mine)


def test_sharing_survives_copies_and_assigned_state(strategy: dict[str, object]) -> None:
    tying = build(strategy)
    saved = tying.state_dict().items()
    state = {name: tensor + 1 if tensor.is_floating_point() else tensor.clone() for name, tensor in saved}
    ids = torch.arange(V).unsqueeze(0)
    tying.load_state_dict(state)
    for other in (copy.deepcopy(tying), build(strategy, seed=3)):
        other.load_state_dict(copy.deepcopy(state), assign=True)
        assert len(list(other.parameters())) == len(list(tying.parameters()))
        assert torch.equal(other.embed(ids), tying.embed(ids))
        assert torch.equal(other.output_weight(), tying.output_weight())
        with torch.no_grad():
            for parameter in other.parameters():
                parameter.mul_(2)
        if strategy["type"] == "tied":
            torch.testing.assert_close(other.output_weight(), other.embed(ids)[0] / other.input_path.scale)
            assert not torch.equal(other.output_weight(), tying.output_weight())


def test_gradients_pass_finite_differences(strategy: dict[str, object]) -> None:
    tying = build(strategy).double()
    ids, hidden = torch.randint(0, V, (1, 4)), torch.randn(1, 4, D, dtype=torch.float64)
    parameters = list(tying.parameters())

    def score(*_: torch.Tensor) -> torch.Tensor:
        scores = F.linear(tying.project(tying.embed(ids) + hidden), tying.output_weight(), tying.output_bias())
        return scores.tanh().sum()

    def score_at_once(*_: torch.Tensor) -> torch.Tensor:
        vectors, head = tying.embed_with_head(ids)
        return F.linear(tying.project(vectors + hidden), head.weight, head.bias).tanh().sum()

    assert torch.equal(score(), score_at_once())
    assert torch.autograd.gradcheck(score, parameters)
    # the check of undefined gradients does not know that one may be sparse
    assert torch.autograd.gradcheck(score_at_once, parameters, check_undefined_grad=False)


def test_embedding_and_output_weight_at_once_have_the_gradients_of_both(strategy: dict[str, object]) -> None:
    """Of the whole matrix too where the gradient is one number for all entries, and of each where it is alone."""
    ids, whole = torch.tensor([[3, 0, 3, 3]]), torch.randn(4, D)

    def gradients(at_once: bool, uses: str) -> list[torch.Tensor]:
        tying = build(strategy)
        vectors, head = tying.embed_with_head(ids)
        parts = (vectors, head.weight) if at_once else (tying.embed(ids), tying.output_weight())
        terms = {"rows": (parts[0] * whole).sum(), "whole": parts[1].sum()}
        sum(terms[use] for use in uses.split()).backward()  # type: ignore[union-attr]
        found = [parameter.grad for parameter in tying.parameters() if parameter.grad is not None]
        return [gradient.to_dense() for gradient in found]

    for uses in ("rows", "whole", "rows whole"):
        pairs = zip(gradients(True, uses), gradients(False, uses), strict=True)
        assert all(torch.equal(one, other) for one, other in pairs)


def test_a_penalty_is_a_number_with_the_gradients_of_finite_differences(strategy: dict[str, object]) -> None:
    tying = build(strategy).double()
    for stage in tying.stages:
        tying.set_progress(stage)
        penalty = tying.penalty()
        if penalty is not None:
            assert penalty.shape == () and penalty > 0

            def penalized(*_: torch.Tensor) -> torch.Tensor:
                found = tying.penalty()
                assert found is not None
                return found

            assert torch.autograd.gradcheck(penalized, list(tying.parameters()))


def test_stages_begin_with_the_run_and_what_waits_or_is_left_over_gets_no_gradient(strategy: dict[str, object]) -> None:
    tying = build(strategy)
    assert tying.stages[0] == 0.0 and list(tying.stages) == sorted({*tying.stages})
    for stage in tying.stages:
        tying.zero_grad()
        pairs = tying.set_progress(stage)
        assert all(source.shape == target.shape for source, target in pairs)
        assert tying.set_progress(stage) == [], "a switch is made once"
        scores = F.linear(tying.project(tying.embed(torch.arange(V)[None])), tying.output_weight(), tying.output_bias())
        scores.square().sum().backward()
        unused = {name for name, parameter in tying.named_parameters() if parameter.grad is None}
        waiting = {id(parameter) for parameter in tying.idle_now()}
        assert unused == {name for name, parameter in tying.named_parameters() if id(parameter) in waiting}
        assert unused <= ({"output_embedding"} if len(tying.stages) > 1 else set())
    left_over = [name for name, parameter in tying.named_parameters() if parameter.grad is None]
    idle = {id(parameter) for parameter in tying.idle_at_inference()}
    assert left_over == [name for name, parameter in tying.named_parameters() if id(parameter) in idle]


def test_independent_matrices_are_not_proportional() -> None:
    tying = build_tying(TypeAdapter(TyingConfig).validate_python({"type": "untied"}), 400, 64)
    initialize(tying, 0)
    state = tying.state_dict()
    cosines = F.cosine_similarity(state["input_embedding"], state["output_embedding"])
    # of independent rows: mean 0, standard deviation 1 / sqrt(D), so the mean of 400 lies within 5 / sqrt(400 D)
    assert cosines.mean().abs() < 5 / (400 * 64) ** 0.5
    assert cosines.abs().max() < 5 / 64**0.5


def test_starts_are_what_they_say() -> None:
    copied, zero = build({"type": "untied", "output_init": "copy"}), build({"type": "untied", "output_init": "zero"})
    assert torch.equal(copied.output_weight(), copied.state_dict()["input_embedding"])
    assert zero.output_weight().abs().max() == 0
    config: TyingConfig = TypeAdapter(TyingConfig).validate_python({"type": "untied", "output_init_std": 0.3})
    wide = build_tying(config, 500, 40)
    initialize(wide, 0)
    # 20,000 draws: the sample deviation lies within 5 / sqrt(2 n) of the asked one
    assert wide.output_weight().std().item() == pytest.approx(0.3, rel=5 / (2 * 20_000) ** 0.5)
    assert wide.state_dict()["input_embedding"].std().item() == pytest.approx(0.02, rel=5 / (2 * 20_000) ** 0.5)


def test_input_scale_acts_on_the_input_alone() -> None:
    plain, scaled = build({"type": "tied"}), build({"type": "tied", "input_scale": "sqrt_dim"})
    ids = torch.arange(V).unsqueeze(0)
    torch.testing.assert_close(scaled.embed(ids), plain.embed(ids) * D**0.5)
    assert torch.equal(scaled.output_weight(), plain.output_weight())


def test_the_gradient_of_a_tied_matrix_is_the_sum_of_both_uses() -> None:
    tied, untied = build({"type": "tied"}), build({"type": "untied", "output_init": "copy"})
    ids = torch.tensor([[1, 2, 1]])
    for tying in (tied, untied):
        (tying.embed(ids) @ tying.output_weight().t()).square().sum().backward()
    apart = [parameter.grad for parameter in untied.parameters()]
    together = next(tied.parameters()).grad
    assert together is not None and apart[0] is not None and apart[1] is not None
    torch.testing.assert_close(together, apart[0] + apart[1])


def test_a_strategy_that_makes_something_of_the_shared_matrix_is_trained_with_that() -> None:
    """It says so in `embed` or `output_weight` alone, as the README shows it."""

    class Doubled(Tied):
        def output_weight(self) -> torch.Tensor:
            return 2 * self.input_embedding

    class Halved(Tied):
        def embed(self, ids: torch.Tensor) -> torch.Tensor:
            return super().embed(ids) / 2

    ids = torch.arange(3)[None]
    for kind in (Doubled, Halved):
        tying = kind(TiedConfig(), V, D)
        nn.init.normal_(tying.input_embedding)
        vectors, head = tying.embed_with_head(ids)
        assert torch.equal(vectors, tying.embed(ids)) and torch.equal(head.weight, tying.output_weight())


def test_every_strategy_of_the_config_is_tested_in_every_form_that_has_a_class_of_its_own() -> None:
    union, *_ = get_args(TyingConfig)
    configs = [TypeAdapter(TyingConfig).validate_python(raw) for raw in STRATEGIES]
    assert {type(config) for config in configs} == set(get_args(union))
    built = {type(build(raw)) for raw in STRATEGIES}
    modules = {path.stem for path in Path(tiedlm.tying.__file__).parent.glob("*.py")}
    written = {
        kind
        for module in modules - {"__init__"}
        for kind in vars(importlib.import_module(f"tiedlm.tying.{module}")).values()
        if isinstance(kind, type) and issubclass(kind, Tying)
    }
    abstract = {kind for kind in written if any(issubclass(other, kind) for other in written - {kind})}
    assert built >= written - abstract and built <= written


def test_a_config_that_build_does_not_know_is_an_error_and_no_other_strategy() -> None:
    class OtherConfig(EmbeddingConfig):
        type: Literal["other"] = "other"

    with pytest.raises(AssertionError):
        build_tying(OtherConfig(), V, D)  # type: ignore[arg-type]
