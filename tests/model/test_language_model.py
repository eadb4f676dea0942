"""The language model: what it computes, where it starts, and that a shared matrix stays one."""

import copy
import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tiedlm.config.base import ConfigError
from tiedlm.model.config import TransformerConfig
from tiedlm.model.language_model import LanguageModel, build_model
from tiedlm.model.layers import Attention
from tiedlm.model.parameters import hash_body, hash_input_embedding

V, D, T = 97, 16, 32
TIED: dict[str, Any] = {"type": "tied"}
UNTIED: dict[str, Any] = {"type": "untied"}
COPY: dict[str, Any] = {"type": "untied", "output_init": "copy"}
BIASED: dict[str, Any] = {"type": "tied", "output_bias": True, "input_scale": "sqrt_dim"}
STRATEGIES = pytest.mark.parametrize("tying", [TIED, UNTIED, COPY, BIASED], ids=["tied", "untied", "copy", "biased"])
POSITIONS = pytest.mark.parametrize("positions", ["learned", "rope", "sinusoidal", "none"])


def configure(**changes: Any) -> TransformerConfig:
    return TransformerConfig.model_validate({"num_layers": 2, "dim": D, "num_heads": 4, **changes})


def build(seed: int = 0, **changes: Any) -> LanguageModel:
    model = build_model(configure(**changes), V, T)
    model.initialize(seed)
    return model


def batch(num_rows: int = 3, seq_len: int = T, num_ignored: int = 0) -> tuple[Tensor, Tensor]:
    """ids and targets (num_rows, seq_len), the last `num_ignored` targets of the last row not scored."""
    generator = torch.Generator().manual_seed(0)
    ids, targets = torch.randint(0, V, (2, num_rows, seq_len), generator=generator)
    if num_ignored:
        targets[-1, -num_ignored:] = -100
    return ids, targets


def gradients(model: nn.Module) -> dict[str, Tensor]:
    found = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    assert len(found) == len(list(model.parameters()))
    return found


@STRATEGIES
def test_nll_is_cross_entropy_over_full_logits_in_value_and_every_gradient(tying: dict[str, Any]) -> None:
    model = build(tying=tying).double()
    reference = copy.deepcopy(model)
    ids, targets = batch(num_rows=19, num_ignored=5)  # 608 rows do not divide into chunks of 256
    nll = model.nll(ids, targets)
    expected = F.cross_entropy(reference.logits(ids).flatten(0, 1), targets.flatten(), reduction="sum")
    torch.testing.assert_close(nll, expected, rtol=1e-12, atol=0)
    nll.backward()
    expected.backward()
    plain = gradients(reference)
    for name, gradient in gradients(model).items():
        torch.testing.assert_close(gradient, plain[name], rtol=1e-9, atol=1e-11)


@STRATEGIES
def test_token_nll_is_nll_token_by_token(tying: dict[str, Any]) -> None:
    model = build(tying=tying)
    ids, targets = batch(num_ignored=5)
    each = model.token_nll(ids, targets)
    assert each.shape == targets.shape and each.dtype is torch.float32 and not each.requires_grad
    assert (each == 0).equal(targets == -100)
    torch.testing.assert_close(each.double().sum().float(), model.nll(ids, targets))


def test_scoring_leaves_autocast_behind() -> None:
    """The body may run in bf16, but logits and softmax of `token_nll` are fp32, as those of `logits` are."""
    model = build()
    ids, targets = batch()
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        hidden, each, logits = model(ids), model.token_nll(ids, targets), model.logits(ids)
    expected = F.linear(hidden, model.tying.output_weight())
    assert logits.dtype is torch.float32
    torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(
        each.flatten(), F.cross_entropy(expected.flatten(0, 1), targets.flatten(), reduction="none")
    )


@POSITIONS
def test_a_later_id_changes_no_earlier_logit(positions: str) -> None:
    model = build(positions=positions).double()
    ids, _ = batch()
    before = model.logits(ids)
    for place in (T - 1, T // 2, 1):
        changed = ids.clone()
        changed[:, place] = (changed[:, place] + 1) % V
        after = model.logits(changed)
        torch.testing.assert_close(after[:, :place], before[:, :place], rtol=0, atol=1e-12)
        assert (after[:, place] - before[:, place]).abs().max() > 1e-6


@POSITIONS
def test_padding_on_the_right_changes_nothing_before_it(positions: str) -> None:
    model = build(positions=positions).double()
    ids, targets = batch(seq_len=9)
    padded_ids, padded_targets = F.pad(ids, (0, T - 9), value=0), F.pad(targets, (0, T - 9), value=-100)
    torch.testing.assert_close(model(padded_ids)[:, :9], model(ids), rtol=0, atol=1e-12)
    torch.testing.assert_close(model.nll(padded_ids, padded_targets), model.nll(ids, targets), rtol=1e-12, atol=0)


def test_rows_of_a_batch_do_not_see_each_other() -> None:
    model = build().double()
    ids, _ = batch()
    alone = torch.cat([model.logits(row[None]) for row in ids])
    torch.testing.assert_close(model.logits(ids), alone, rtol=0, atol=1e-12)


def test_order_matters_where_positions_say_so_alone() -> None:
    """One layer without positions reads a set at the last position; every kind of positions tells orders apart."""
    ids, _ = batch(num_rows=1, seq_len=8)
    shuffled = torch.cat([ids[:, :7].flip(1), ids[:, 7:]], 1)
    for positions in ("none", "learned", "rope", "sinusoidal"):
        model = build(num_layers=1, positions=positions, init_std=0.3, tying={"type": "tied", "init_std": 0.3}).double()
        difference = (model.logits(ids)[:, -1] - model.logits(shuffled)[:, -1]).abs().max().item()
        assert (difference < 1e-12) == (positions == "none"), positions


@STRATEGIES
def test_the_first_loss_is_near_that_of_guessing(tying: dict[str, Any]) -> None:
    ids, targets = batch(num_rows=16)
    loss = build(tying=tying).nll(ids, targets) / targets.numel()
    assert loss.item() == pytest.approx(math.log(V), abs=0.3)


@STRATEGIES
def test_a_model_from_the_meta_device_is_the_model_built_here(tying: dict[str, Any]) -> None:
    for positions in ("learned", "rope"):
        with torch.device("meta"):
            model = build_model(configure(tying=tying, positions=positions), V, T)
        assert all(parameter.is_meta for parameter in model.parameters())
        model.to_empty(device="cpu")
        model.initialize(3)
        direct = build(3, tying=tying, positions=positions)
        assert_same_parameters(model, direct)
        ids, targets = batch()
        assert model.nll(ids, targets).equal(direct.nll(ids, targets))


def test_t03_built_on_the_meta_device_a_tied_model_has_one_matrix_and_starts_near_guessing() -> None:
    with torch.device("meta"):
        model = build_model(configure(), V, T)
    model.to_empty(device="cpu")
    model.initialize(0)
    assert sum(parameter.shape == (V, D) for parameter in model.parameters()) == 1
    ids, targets = batch(num_rows=16)
    assert (model.nll(ids, targets) / targets.numel()).item() == pytest.approx(math.log(V), abs=0.3)
    with torch.no_grad():
        model.tying.output_weight()[int(ids[0, 0])] += 1
    assert model.tying.embed(ids)[0, 0].equal(model.tying.output_weight()[int(ids[0, 0])]), "one memory for both uses"


@STRATEGIES
def test_another_draw_of_the_embeddings_moves_the_embeddings_alone(tying: dict[str, Any]) -> None:
    config = configure(tying=tying, positions="learned")
    models = [build_model(config, V, T) for _ in range(4)]
    for model, draw in zip(models, (0, 1, 2, 1), strict=True):
        model.initialize(3, draw)
    assert_same_parameters(models[0], build(3, tying=tying, positions="learned"))
    assert_same_parameters(models[1], models[3])
    assert len({hash_body(model) for model in models}) == 1
    assert len({hash_input_embedding(model) for model in models}) == 3
    outputs = [model.tying.output_weight() for model in models]
    assert not outputs[0].equal(outputs[1]) and not outputs[1].equal(outputs[2])
    for one, other in ((0, 1), (1, 2)):
        mine, theirs = (models[index].state_dict()["tying.input_embedding"].flatten() for index in (one, other))
        assert abs(float(torch.corrcoef(torch.stack([mine, theirs]))[0, 1])) < 4 / math.sqrt(V * D)


def assert_same_parameters(one: nn.Module, other: nn.Module) -> None:
    mine, theirs = one.state_dict(), other.state_dict()
    assert list(mine) == list(theirs)
    for name, tensor in mine.items():
        assert tensor.equal(theirs[name]), name


def materialized(model: LanguageModel) -> LanguageModel:
    model.to_empty(device="cpu")
    model.initialize(0)
    return model


def reloaded(model: LanguageModel) -> LanguageModel:
    with torch.device("meta"):
        empty = build_model(configure(), V, T)
    empty.load_state_dict(model.state_dict(), assign=True)
    return empty


@pytest.mark.parametrize("carry", [materialized, reloaded, copy.deepcopy], ids=lambda carry: carry.__name__)
def test_a_shared_matrix_stays_one_parameter(carry: Any) -> None:
    model: LanguageModel = carry(build())
    matrices = [parameter for parameter in model.parameters() if parameter.shape == (V, D)]
    assert len(matrices) == 1 and sum(tensor.shape == (V, D) for tensor in model.state_dict().values()) == 1
    ids, _ = batch()
    before, scores = model.tying.embed(ids), model.logits(ids)
    with torch.no_grad():
        matrices[0].mul_(2)
    torch.testing.assert_close(model.tying.embed(ids), 2 * before)
    assert model.tying.output_weight().equal(matrices[0]) and not torch.allclose(model.logits(ids), scores)


def test_every_strategy_starts_from_the_same_body_and_input_embedding() -> None:
    models = [build(5, tying=tying) for tying in (TIED, UNTIED, COPY, BIASED)]
    assert len({hash_body(model) for model in models}) == 1
    assert len({hash_input_embedding(model) for model in models}) == 1
    assert hash_body(build(6)) != hash_body(models[0])
    assert hash_input_embedding(build(6)) != hash_input_embedding(models[0])


def test_no_two_parameters_share_a_stream() -> None:
    """Were the seed the same for each, matrices of one shape would start equal."""
    matrices = [
        weight.flatten() for weight in build(tying=UNTIED, feed_forward="swiglu").parameters() if weight.ndim == 2
    ]
    for index, one in enumerate(matrices):
        for other in matrices[:index]:
            size = min(len(one), len(other))
            correlation = torch.corrcoef(torch.stack([one[:size], other[:size]]))[0, 1].item()
            assert abs(correlation) < 5 / math.sqrt(size)


def test_a_copied_output_embedding_starts_as_the_tied_function() -> None:
    ids, targets = batch()
    tied, copied = build(tying=TIED), build(tying=COPY)
    assert tied.nll(ids, targets).equal(copied.nll(ids, targets))
    assert tied.logits(ids).equal(copied.logits(ids))


def test_under_autocast_the_tied_gradient_is_as_close_to_float64_as_the_untied_ones() -> None:
    ids, targets = batch(num_rows=40)  # five chunks of the head
    exact, tied, untied = build(tying=COPY).double(), build(tying=TIED), build(tying=COPY)
    exact.nll(ids, targets).backward()
    for model in (tied, untied):
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            nll = model.nll(ids, targets)
        nll.backward()
    shared = gradients(tied)["tying.input_embedding"]
    true, rough = (
        [gradients(model)[f"tying.{side}_embedding"] for side in ("input", "output")] for model in (exact, untied)
    )
    assert shared.dtype is torch.float32
    torch.testing.assert_close(shared, rough[0] + rough[1], rtol=0, atol=2e-6 * shared.abs().max().item())

    def relative_error(mine: Tensor, reference: Tensor) -> float:
        return float((mine - reference).norm() / reference.norm())

    worst = max(map(relative_error, rough, true))
    assert 0 < relative_error(shared, true[0] + true[1]) <= 1.1 * worst


def test_dropout_acts_in_training_only() -> None:
    ids, targets = batch()
    dropping, plain = build(dropout=0.3), build()
    assert not dropping.nll(ids, targets).equal(dropping.nll(ids, targets))
    dropping.eval()
    assert dropping.nll(ids, targets).equal(plain.nll(ids, targets))


def test_dropout_zeroes_embedding_and_both_branches() -> None:
    model = build(dropout=0.3)
    ids, _ = batch(num_rows=40)  # 20,480 entries each: one standard error is 0.3 %
    shares: list[float] = []

    def note(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        shares.append((output == 0).double().mean().item())

    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.register_forward_hook(note)
    model(ids)
    assert shares == pytest.approx([0.3] * 5, abs=0.015)  # the embedding, then two branches in each of two layers
    assert [module.dropout for module in model.modules() if isinstance(module, Attention)] == [0.3, 0.3]


def test_a_config_that_contradicts_the_data_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model\.vocab_size: 96 .* 97"):
        build_model(configure(vocab_size=96), V, T)
    with pytest.raises(ConfigError, match=r"model\.max_seq_len: 16 .* 32"):
        build_model(configure(max_seq_len=16), V, T)


def test_the_config_may_leave_room_for_more_positions() -> None:
    model = build_model(configure(max_seq_len=50, vocab_size=V), V, T)
    assert model.positions is not None and [len(table) for table in model.positions.parameters()] == [50]


@pytest.mark.parametrize("tying", ["tied", "untied"])
def test_what_is_compiled_is_what_trains(tying: str) -> None:
    """`compile` replaces what a call of the model does; the objective must go that way."""
    graphs: list[torch.fx.GraphModule] = []

    def noted(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Any:
        graphs.append(graph)
        return graph.forward

    models = [build_model(configure(tying={"type": tying}), V, T) for _ in range(2)]
    for model in models:
        model.initialize(0)
    models[1].compile(backend=noted)
    ids = torch.arange(8).unsqueeze(0)
    losses = [model.nll(ids, ids) for model in models]
    for loss in losses:
        loss.backward()
    assert graphs and losses[0] == losses[1]
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        assert one.grad is not None and other.grad is not None
        torch.testing.assert_close(one.grad, other.grad)
