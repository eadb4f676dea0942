"""Each strategy inside a model: the lean loss, number formats, counts, files, memory, objective."""

import copy
import functools
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.support.strategies import STRATEGIES
from tests.support.tying_runs import TIED, UNTIED, D, T, V, losses, shape, state, tiny_model, tiny_training
from tiedlm.evaluation.perplexity import score_tokens
from tiedlm.forecast.footprint import Footprint
from tiedlm.forecast.memory import Target, forecast_peak
from tiedlm.model.language_model import LanguageModel, build_model
from tiedlm.model.parameters import count_parameters, hash_body, hash_input_embedding
from tiedlm.training.config import TrainingConfig
from tiedlm.training.machine import Machine
from tiedlm.training.step import MicroBatchLoss, TrainingStep
from tiedlm.tying.build import build_tying

EACH = pytest.mark.parametrize("tying", STRATEGIES, ids=lambda raw: "-".join(map(str, raw.values())))
PENALIZED: list[dict[str, Any]] = [
    {"type": "soft", "strength": 2.0},
    {"type": "projected", "strength": 2.0},
    {"type": "progressive", "strength": 2.0, "penalty_from": 0.0},
]


def batch(num_rows: int = 3) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    ids, targets = torch.randint(0, V, (2, num_rows, T), generator=generator)
    targets[-1, -5:] = -100
    return ids, targets


def gradients(model: LanguageModel) -> dict[str, Tensor]:
    return {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}


@EACH
def test_the_lean_loss_is_the_full_one_in_value_and_every_gradient_at_every_stage(tying: dict[str, Any]) -> None:
    model = tiny_model(tying).double()
    ids, targets = batch(num_rows=9)  # 288 rows: two chunks
    for stage in model.tying.stages:
        model.tying.set_progress(stage)
        model.zero_grad()
        reference = copy.deepcopy(model)
        nll = model.nll(ids, targets)
        expected = F.cross_entropy(reference.logits(ids).flatten(0, 1), targets.flatten(), reduction="sum")
        torch.testing.assert_close(nll, expected, rtol=1e-12, atol=0)
        nll.backward()
        expected.backward()
        found, plain = gradients(model), gradients(reference)
        assert found.keys() == plain.keys() and len(found) >= len(list(model.parameters())) - 1
        for name, gradient in found.items():
            torch.testing.assert_close(gradient, plain[name], rtol=1e-9, atol=1e-11)


def errors_in_bf16(tying: dict[str, Any]) -> dict[str, float]:
    """Relative errors of the gradients of the embeddings (of each matrix of the tying) against float64."""
    model = tiny_model(tying)
    exact = copy.deepcopy(model).double()
    ids, targets = batch(num_rows=40)  # five chunks of the head
    exact.nll(ids, targets).backward()
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        nll = model.nll(ids, targets)
    nll.backward()
    true = gradients(exact)
    assert all(gradient.dtype is torch.float32 for gradient in gradients(model).values())
    pairs = ((name, gradient, true[name]) for name, gradient in gradients(model).items() if name.startswith("tying."))
    # the error of a single number is luck: no sum over many entries evens it out
    return {
        name: float((mine - other).norm() / other.norm())
        for name, mine, other in pairs
        if other.dim() > 1 and other.any()
    }


@EACH
def test_gradients_in_bf16_are_as_close_to_float64_as_those_of_untied(tying: dict[str, Any]) -> None:
    """A map adds a product or two in 16 bits to what every gradient goes through."""
    has_map = tying["type"] in ("projected", "factorized")
    assert max(errors_in_bf16(tying).values()) <= (2.5 if has_map else 1.1) * max(errors_in_bf16(UNTIED).values())


@EACH
def test_vectors_stay_in_fp32_under_autocast(tying: dict[str, Any]) -> None:
    """Else the residual stream of one strategy would be in 16 bits and that of another would not."""
    model = tiny_model(tying)
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        assert model.tying.embed(batch()[0]).dtype is torch.float32
        assert model.tying.output_weight().dtype is torch.float32


@EACH
def test_the_first_loss_is_near_that_of_guessing(tying: dict[str, Any]) -> None:
    ids, targets = batch(num_rows=16)
    loss = tiny_model(tying).nll(ids, targets) / (targets != -100).sum()
    assert loss.item() == pytest.approx(math.log(V), abs=0.3)


@EACH
def test_equal_seeds_give_equal_bodies_and_input_embeddings_where_there_is_one(tying: dict[str, Any]) -> None:
    model, tied = tiny_model(tying), tiny_model(TIED)
    assert hash_body(model) == hash_body(tied)
    expected = None if tying["type"] == "factorized" else hash_input_embedding(tied)
    assert hash_input_embedding(model) == expected


@EACH
def test_counts_are_exact_and_need_neither_values_nor_frequencies(tying: dict[str, Any]) -> None:
    with torch.device("meta"):
        empty = build_model(shape(tying), V, T)
    model = tiny_model(tying)
    counts = count_parameters(empty, T)
    assert counts == count_parameters(model, T)
    assert sum(counts.parts.values()) == counts.total == sum(map(torch.numel, model.parameters()))
    assert counts.non_embedding == count_parameters(tiny_model(TIED), T).non_embedding
    stages = model.tying.stages
    model.tying.set_progress(stages[-1])
    ids, targets = batch()
    model.nll(ids, targets).backward()
    used = sum(parameter.numel() for parameter in model.parameters() if parameter.grad is not None)
    assert counts.inference_total == used


@pytest.mark.parametrize(
    ("tying", "shared", "inputs", "outputs"),
    [
        ({"type": "soft"}, 0, V * D, V * D),
        ({"type": "partial_vocabulary", "shared": 0}, 0, V * D, V * D),
        ({"type": "partial_vocabulary", "shared": 40}, 40 * D, (V - 40) * D, (V - 40) * D),
        ({"type": "partial_vocabulary", "shared": V}, V * D, 0, 0),
        ({"type": "partial_dimensions", "shared": 4}, V * 4, V * (D - 4), V * (D - 4)),
        ({"type": "projected"}, V * D, 0, D * D),
        ({"type": "projected", "bias": True, "norm": True}, V * D, 0, D * D + 3 * D),
        ({"type": "factorized", "width": 5}, V * 5, 5 * D, 5 * D),
        ({"type": "factorized", "width": 5, "share": "table_and_map"}, V * 5 + 5 * D, 0, 0),
        ({"type": "factorized", "width": 5, "share": "nothing"}, 0, (V + D) * 5, (V + D) * 5),
        ({"type": "progressive"}, 0, V * D, V * D),
        ({"type": "progressive", "direction": "untie"}, V * D, 0, V * D),
    ],
    ids=str,
)
def test_parts_follow_the_formulas(tying: dict[str, Any], shared: int, inputs: int, outputs: int) -> None:
    parts = count_parameters(tiny_model(tying), T).parts
    assert (parts["shared_embedding"], parts["input_embedding"], parts["output_embedding"]) == (shared, inputs, outputs)


@pytest.mark.parametrize(
    ("tying", "extra"),
    [
        ({"type": "soft"}, 0),
        ({"type": "partial_vocabulary", "shared": 0.5}, 0),
        ({"type": "partial_dimensions", "shared": 0.5}, 0),
        ({"type": "projected"}, D * D),
        ({"type": "factorized", "width": 5}, V * 5 + 2 * D * 5 - V * D),
        ({"type": "factorized", "width": 40, "share": "nothing"}, V * 40 + 2 * D * 40 - V * D),
        ({"type": "progressive"}, 0),
    ],
    ids=str,
)
def test_a_token_costs_what_the_matrices_on_its_way_cost(tying: dict[str, Any], extra: int) -> None:
    """Six FLOPs for each entry that a token is multiplied with: two forward, four backward."""
    flops = [count_parameters(tiny_model(one), T).flops_per_token for one in (tying, TIED)]
    assert flops[0] - flops[1] == 6 * extra


@EACH
def test_weights_go_through_a_file_and_come_back_as_the_same_model(tying: dict[str, Any], tmp_path: Path) -> None:
    model, ids = tiny_model(tying), batch()[0]
    for stage in model.tying.stages:
        model.tying.set_progress(stage)
        save_file(model.state_dict(), tmp_path / "model.safetensors")
        other = tiny_model(tying, seed=1)
        other.load_state_dict(load_file(tmp_path / "model.safetensors"))
        assert torch.equal(other.logits(ids), model.logits(ids))
        assert other.tying.set_progress(stage) == [], "the stage is saved: it is not entered again"


@pytest.mark.parametrize(
    ("tying", "optimizer"),
    [*((tying, "adamw") for tying in STRATEGIES), *((tying, "sgd") for tying in STRATEGIES[-2:])],
    ids=lambda raw: raw if isinstance(raw, str) else "-".join(map(str, raw.values())),
)
def test_stopped_in_any_stage_and_resumed_is_the_run_that_was_not(tying: dict[str, Any], optimizer: str) -> None:
    """Ten steps: `progressive`, the last two, switches before the fourth; stopped before, at and after that."""
    settings: dict[str, Any] = {"optimizer": optimizer, "micro": 2}
    tying = {**tying, "switch_at": 0.3} if tying["type"] == "progressive" else tying
    straight = tiny_training(tying, **settings)
    expected = losses(straight, 5)
    stops = (2, 3, 4) if tying["type"] == "progressive" else (2,)
    for stop in stops:
        first, second = tiny_training(tying, **settings), tiny_training(tying, **settings)
        losses(first, stop)
        snapshot = first.snapshot()
        second.restore(copy.deepcopy(snapshot))
        assert losses(second, 5 - stop) == expected[stop:]
        mine, theirs = state(second.model), state(straight.model)
        assert all(torch.equal(mine[name], theirs[name]) for name in theirs)


@pytest.mark.parametrize("tying", PENALIZED, ids=lambda raw: raw["type"])
def test_a_penalty_joins_the_loss_once_a_step_and_no_score(tying: dict[str, Any]) -> None:
    whole, parts = tiny_training(tying), tiny_training(tying, micro=1)
    for training in (whole, parts):
        training.model.tying.set_progress(0.0)
    ids, targets = (torch.from_numpy(array) for array in whole.batches.batch(0))
    nll = whole.model.nll(ids, targets) / targets.numel()
    penalty = whole.model.tying.penalty()
    assert penalty is not None and penalty > 0.1
    expected = (nll + penalty).item()
    ids_to_score = whole.batches.batch(0)[0].flatten()
    scores = score_tokens(whole.model, ids_to_score, seq_len=T, stride=T, batch_size=2)
    step = TrainingStep(whole.model, Machine(torch.device("cpu"), "fp32", compile=False))
    assert step(MicroBatchLoss(ids, targets, targets.numel(), 1))[1].item() == pytest.approx(
        nll.item() * targets.numel(), rel=1e-6
    )
    assert [whole.advance().loss, parts.advance().loss] == pytest.approx([expected] * 2, rel=1e-6)
    bare = {**tying, "strength": 1e-30}
    unpenalized = score_tokens(tiny_model(bare), ids_to_score, seq_len=T, stride=T, batch_size=2)
    assert (scores == unpenalized).all()


def footprint(tying: dict[str, Any], micro_batch_size: int = 4) -> Footprint:
    return known_footprint(json.dumps(tying), micro_batch_size)


@functools.cache
def known_footprint(written: str, micro_batch_size: int) -> Footprint:
    tying = json.loads(written)
    training = TrainingConfig(steps=1, batch_size=4, learning_rate=1e-3)
    target = Target("cpu", "fp32", micro_batch_size)
    found = forecast_peak(shape(tying), training, target, vocab_size=5000, seq_len=T, max_seq_len=T)
    assert found.reason is None and found.peak_bytes is not None
    return found


@pytest.mark.parametrize(
    ("tying", "reference", "matrices"),
    [
        ({"type": "soft"}, UNTIED, 0),
        ({"type": "soft", "norm": "mean_square"}, UNTIED, 0),
        ({"type": "partial_vocabulary", "shared": 0}, UNTIED, 1),
        ({"type": "partial_dimensions", "shared": 0}, UNTIED, 1),
        ({"type": "partial_dimensions", "shared": 1.0}, TIED, 1),
        ({"type": "partial_vocabulary", "shared": 1.0}, TIED, 1),
        ({"type": "progressive"}, UNTIED, 0),
        ({"type": "progressive", "direction": "untie"}, UNTIED, 0),
    ],
    ids=str,
)
def test_a_matrix_that_is_put_together_costs_its_size_and_a_penalty_nothing_at_the_peak(
    tying: dict[str, Any], reference: dict[str, Any], matrices: int
) -> None:
    """Bytes of the predicted peak beyond those of tied or untied; a few for scalars and ids."""
    extra = (footprint(tying).peak_bytes or 0) - (footprint(reference).peak_bytes or 0)
    assert extra == pytest.approx(matrices * 4 * 5000 * D, abs=8 * 5000 + 256)


def test_where_the_body_is_most_of_the_model_a_penalty_costs_nothing_at_the_peak() -> None:
    """Its way back comes last, when the activations are gone: two matrices beside them would show."""
    training, target = TrainingConfig(steps=1, batch_size=4, learning_rate=1e-3), Target("cpu", "fp32", 4)
    peaks = [
        forecast_peak(shape(tying, num_layers=6), training, target, vocab_size=V, seq_len=T, max_seq_len=T).peak_bytes
        for tying in ({"type": "soft"}, {"type": "progressive", "penalty_from": 0.0}, UNTIED)
    ]
    assert peaks == pytest.approx([peaks[-1]] * 3, abs=128)


def test_a_stage_that_needs_more_than_the_first_is_the_one_predicted() -> None:
    """With two micro-batches the gradients stand at the peak, and before the switch one of them is not there."""
    late = footprint({"type": "progressive", "direction": "untie"}, 2)
    never = footprint({"type": "progressive", "direction": "untie", "switch_at": 1.0}, 2)
    assert (late.peak_bytes or 0) - (never.peak_bytes or 0) >= 4 * 5000 * D


@EACH
def test_vectors_never_decay_and_maps_decay_as_embeddings_do(tying: dict[str, Any]) -> None:
    training = tiny_training(tying, weight_decay=0.3, embedding_weight_decay=0.2)
    decay = {id(one): group["weight_decay"] for group in training.optimizer.param_groups for one in group["params"]}
    for parameter in training.model.tying.parameters():
        assert decay[id(parameter)] == (0.2 if parameter.dim() > 1 else 0.0)
    assert len(decay) == len(list(training.model.parameters()))


def test_meta_and_frequencies_do_not_meet() -> None:
    """Frequencies lie on the CPU wherever the model is built."""
    with torch.device("meta"):
        tying = build_tying(shape({"type": "partial_vocabulary", "shared": 3}).tying, V, D, torch.ones(V, device="cpu"))
    assert all(tensor.is_meta for tensor in tying.state_dict().values())


class Matrices(TorchDispatchMode):
    """Counts the operations that gave out a new tensor as large as a matrix of the vocabulary."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = {leaf.data_ptr() for leaf in tree_leaves((args, kwargs)) if _is_dense(leaf)}
        result = function(*args, **(kwargs or {}))
        given = [leaf for leaf in tree_leaves(result) if _is_dense(leaf) and leaf.shape == (V, D)]
        if any(leaf.data_ptr() not in before for leaf in given):
            self.found.append(str(function))
        return result


def _is_dense(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf.layout == torch.strided


@pytest.mark.parametrize("tying", [TIED, {"type": "projected"}], ids=lambda raw: raw["type"])
def test_a_shared_matrix_takes_one_more_of_its_size_on_the_way_back(tying: dict[str, Any]) -> None:
    """The head's gradient, to which the lookup adds its rows."""
    model, matrices = tiny_model(tying), Matrices()
    ids = torch.arange(T).unsqueeze(0)
    with matrices:
        model.nll(ids, ids).backward()
    assert matrices.found == ["aten.empty_like.default"]
