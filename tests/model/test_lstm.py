"""The recurrent body: against torch's own, against the equations, against itself in one piece."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tiedlm.config.base import ConfigError, parse
from tiedlm.evaluation.generate import generate
from tiedlm.evaluation.perplexity import score_tokens
from tiedlm.forecast.footprint import Footprint
from tiedlm.forecast.memory import Target, forecast_peak
from tiedlm.model.config import LstmConfig, ShapeConfig
from tiedlm.model.language_model import LanguageModel, build_model
from tiedlm.model.lstm import Lstm, LstmLayer, VariationalDropout
from tiedlm.model.parameters import count_parameters, flops_per_token
from tiedlm.model.state import State
from tiedlm.training.config import TrainingConfig

V, D, H, B, T = 29, 6, 10, 3, 7
SHAPE: dict[str, Any] = {"type": "lstm", "num_layers": 2, "dim": D}
IDS = torch.from_numpy(np.random.default_rng(2).integers(0, V, (B, T)))


def shape(**changes: Any) -> LstmConfig:
    return parse(LstmConfig, {**SHAPE, **changes})


def model_of(**changes: Any) -> LanguageModel:
    """A float64 model with every parameter away from its start, so that no bias of 0 hides a fault."""
    model = build_model(shape(**changes), V, T).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.5, generator=generator)
    return model


def layers_of(model: LanguageModel) -> list[LstmLayer]:
    return [module for module in model.modules() if isinstance(module, LstmLayer)]


def with_bias(layer: LstmLayer, gates: Tensor) -> Tensor:
    return gates + layer.bias if layer.recurrent_bias is None else gates + layer.bias + layer.recurrent_bias


def by_the_equations(layer: LstmLayer, inputs: Tensor) -> Tensor:
    """Hochreiter & Schmidhuber with forget gates, one position after another."""
    hidden = cell = inputs.new_zeros(len(inputs), layer.num_outputs)
    outputs = []
    for position in inputs.unbind(1):
        gates = with_bias(layer, position @ layer.input_weight.T + hidden @ layer.recurrent_weight.T)
        enter, forget, candidate, leave = gates.chunk(4, dim=1)
        cell = forget.sigmoid() * cell + enter.sigmoid() * candidate.tanh()
        hidden = leave.sigmoid() * cell.tanh()
        outputs.append(hidden)
    return torch.stack(outputs, dim=1)


@pytest.mark.parametrize("bias", ["single", "double"])
def test_the_body_is_torchs_lstm_in_values_and_gradients(bias: str) -> None:
    model = model_of(recurrent_bias=bias)
    theirs = nn.LSTM(D, D, num_layers=2, batch_first=True, dtype=torch.float64)
    pairs = [("weight_ih", "input_weight"), ("weight_hh", "recurrent_weight"), ("bias_ih", "bias")]
    pairs += [("bias_hh", "recurrent_bias")] if bias == "double" else []
    with torch.no_grad():
        for index, layer in enumerate(layers_of(model)):
            getattr(theirs, f"bias_hh_l{index}").zero_()
            for name, ours in pairs:
                getattr(theirs, f"{name}_l{index}").copy_(getattr(layer, ours))
    inputs = torch.randn(B, T, D, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(B, T, D, dtype=torch.float64)
    state = State()
    (model.body(inputs, state) * weights).sum().backward()
    own, inputs.grad = inputs.grad, None
    outputs, (hidden, cell) = theirs(inputs)
    (outputs * weights).sum().backward()
    torch.testing.assert_close(model.body(inputs), outputs, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(own, inputs.grad, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(state.value, torch.cat([hidden[0], cell[0], hidden[1], cell[1]], dim=1))
    for index, layer in enumerate(layers_of(model)):
        for name, ours in pairs:
            expected = getattr(theirs, f"{name}_l{index}").grad
            torch.testing.assert_close(getattr(layer, ours).grad, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("changes", [{}, {"hidden_dim": H, "num_layers": 3, "recurrent_bias": "double"}])
def test_the_model_is_the_equations_written_out(changes: dict[str, Any]) -> None:
    model = model_of(tying={"type": "untied", "output_bias": True}, **changes)
    hidden = model.tying.embed(IDS)
    for layer in layers_of(model):
        hidden = by_the_equations(layer, hidden)
    scores = hidden @ model.tying.output_weight().T + model.tying.state_dict()["bias"]
    torch.testing.assert_close(model.logits(IDS), scores, rtol=1e-12, atol=1e-14)


def test_only_the_layers_before_the_last_have_the_hidden_width() -> None:
    body = Lstm(shape(num_layers=3, hidden_dim=H))
    assert body.widths == [H, H, D]
    layers = [module for module in body.modules() if isinstance(module, LstmLayer)]
    assert [tuple(layer.input_weight.shape) for layer in layers] == [(4 * H, D), (4 * H, H), (4 * D, H)]


@pytest.mark.parametrize("cuts", [(3,), (1, 4), (1, 2, 3, 4, 5, 6)])
def test_a_carried_state_makes_pieces_one_text(cuts: tuple[int, ...]) -> None:
    model, state = model_of(hidden_dim=H), State()
    pieces = [model(piece, state) for piece in IDS.tensor_split(cuts, dim=1)]
    torch.testing.assert_close(torch.cat(pieces, dim=1), model(IDS), rtol=1e-12, atol=1e-14)
    assert state.value is not None and not state.value.requires_grad, "gradients end with the window"


def test_rows_have_states_of_their_own() -> None:
    model, whole = model_of(), State()
    model(IDS, whole)
    for row in range(B):
        alone = State()
        model(IDS[row : row + 1], alone)
        assert whole.value is not None and alone.value is not None
        torch.testing.assert_close(alone.value[0], whole.value[row])


def test_mixed_precision_keeps_parameters_and_gradients_in_fp32() -> None:
    model, state = build_model(shape(hidden_dim=H), V, T), State()
    model.initialize(0)
    exact = float(model.nll(IDS, IDS).detach())
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        for _ in range(2):  # the second goes on from a state of 16 bits
            hidden = model(IDS, state)
            nll = model.nll(IDS, IDS, State())
    nll.backward()
    assert hidden.dtype == torch.float32
    assert float(nll.detach()) == pytest.approx(exact, rel=1e-2)
    assert all(parameter.grad is not None and parameter.grad.dtype == torch.float32 for parameter in model.parameters())


def test_a_variational_mask_is_the_same_at_every_position_and_another_in_every_row() -> None:
    dropout, ones = VariationalDropout(0.5).train(), torch.ones(64, T, 32)
    torch.manual_seed(0)
    dropped = dropout(ones)
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}, "what is kept makes up for what is not"
    assert float((dropped[:, 0] == 0).float().mean()) == pytest.approx(0.5, abs=0.05)
    assert not torch.equal(dropped[0], dropped[1])
    assert torch.equal(dropout.eval()(ones), ones)


@pytest.mark.parametrize("variational", [False, True])
def test_dropout_is_on_what_enters_a_layer_and_on_what_leaves_the_last(variational: bool) -> None:
    body = Lstm(shape(dropout=0.5, variational_dropout=variational)).train()
    seen: list[Tensor] = []
    body.dropout.register_forward_hook(lambda _, inputs, output: seen.append(output))
    for parameter in body.parameters():
        nn.init.normal_(parameter)
    result = body(torch.ones(B, T, D))
    assert len(seen) == 3 and torch.equal(seen[-1], result)
    assert all((output == 0).any() for output in seen)
    body.eval()
    assert torch.equal(body(torch.ones(B, T, D)), body(torch.ones(B, T, D)))


def test_counts_are_those_of_the_formula() -> None:
    for bias, vectors in (("single", 1), ("double", 2)):
        counted = count_parameters(model_of(hidden_dim=H, recurrent_bias=bias, num_layers=3), T)
        layers = [(D, H), (H, H), (H, D)]
        assert counted.parts["body"] == sum(4 * out * (into + out + vectors) for into, out in layers)
        assert counted.parts["final_norm"] == counted.parts["positions"] == 0


def test_flops_are_six_a_matrix_entry_however_long_the_window() -> None:
    model = model_of(hidden_dim=H)
    matrices = 4 * H * (D + H) + 4 * D * (H + D)
    assert flops_per_token(model, 10) == flops_per_token(model, 1000) == 6 * (matrices + V * D)


@pytest.mark.parametrize(
    "tying", [{"type": "tied"}, {"type": "projected"}, {"type": "factorized", "width": 3}, {"type": "untied"}]
)
def test_any_tying_goes_with_it(tying: dict[str, Any]) -> None:
    model = model_of(tying=tying)
    exact = nn.functional.cross_entropy(model.logits(IDS).flatten(0, 1), IDS.flatten(), reduction="sum")
    torch.testing.assert_close(model.nll(IDS, IDS), exact)


def test_a_carried_state_scores_each_token_as_one_long_pass_does_whatever_the_windows() -> None:
    model = model_of(hidden_dim=H).float()
    ids = np.random.default_rng(0).integers(0, V, 101)
    with torch.no_grad():
        scores = model.logits(torch.from_numpy(ids[None, :-1]))[0].double().log_softmax(-1)
    expected = -scores[torch.arange(100), torch.from_numpy(ids[1:])].numpy()
    for seq_len, batch_size in ((1, 1), (7, 3), (100, 1), (16, 16)):
        found = score_tokens(model, ids, seq_len=seq_len, stride=seq_len, batch_size=batch_size, carry_state=True)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    windows = score_tokens(model, ids, seq_len=7, stride=7, batch_size=3)
    assert abs(windows - expected).max() > 0.01, "without the state the context is the window's alone"


def test_generation_with_a_carried_state_is_that_with_all_of_the_text_in_view() -> None:
    model = model_of()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)  # sharp, so that a wrong state shows in what is drawn
    carried = list(generate(model, [3, 1, 4], num_tokens=60, max_context=None, seed=1))
    assert carried == list(generate(model, [3, 1, 4], num_tokens=60, max_context=100, seed=1))
    assert carried != list(generate(model, [3, 1, 4], num_tokens=60, max_context=2, seed=1))


def test_a_carried_state_reads_each_token_once_and_windows_begin_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model, reads = model_of(), []
    next_logits = model.next_logits

    def reading(ids: Tensor, state: State) -> Tensor:
        reads.append((ids.shape[1], state.value is None))
        return next_logits(ids, state)

    monkeypatch.setattr(model, "next_logits", reading)
    list(generate(model, [3, 1, 4], num_tokens=3, max_context=None))
    assert reads == [(3, True), (1, False), (1, False)]
    reads.clear()
    list(generate(model, [3, 1, 4], num_tokens=3, max_context=2))
    assert reads == [(2, True)] * 3


def footprint(precision: Any, seq_len: int = T, **changes: Any) -> Footprint:
    training = TrainingConfig.model_validate({"steps": 1, "batch_size": 4, "learning_rate": 1.0, "optimizer": "sgd"})
    where = Target("cpu", precision, 4)
    return forecast_peak(shape(**changes), training, where, vocab_size=500, seq_len=seq_len, max_seq_len=seq_len)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_its_memory_is_predicted(precision: str) -> None:
    tied, untied = (footprint(precision, tying={"type": kind}) for kind in ("tied", "untied"))
    assert tied.reason is None and tied.persistent_bytes is not None and untied.persistent_bytes is not None
    assert untied.persistent_bytes - tied.persistent_bytes == 3 * 4 * 500 * D


def test_the_gates_and_cells_that_the_way_back_needs_are_a_part_of_the_memory() -> None:
    """Of four windows of 300 positions in two layers; in 16 bits half of that. The outputs are a fifth of them."""
    kept = 5 * 4 * 300 * (64 + D)
    for precision, size in (("fp32", 4), ("bf16", 2)):
        held = footprint(precision, seq_len=300, hidden_dim=64).categories["activations"]
        assert 1.2 * kept * size < held < 6 * kept * size
    shorter, longer = (footprint("fp32", seq_len=length, hidden_dim=64).peak_bytes for length in (600, 1200))
    assert shorter is not None and longer is not None
    assert longer - shorter > 4 * 2 * kept, "it grows with the window"


@pytest.mark.parametrize(
    ("keys", "key", "complaint"),
    [
        ({"num_heads": 2}, "model.num_heads", "unknown key of this type"),
        ({"layer_sharing": "all"}, "model.layer_sharing", "unknown key of this type"),
        ({"max_seq_len": 9}, "model.max_seq_len", "unknown key of this type"),
        ({"num_layers": 1, "hidden_dim": 9}, "model", "hidden_dim 9 means nothing to a single layer"),
        ({"type": "gru"}, "model.type", '"gru": must be transformer or lstm'),
        ({"recurrent_bias": 2}, "model.recurrent_bias", "2: must be 'single' or 'double'"),
        ({"dim": 0}, "model.dim", "0: must be above 0"),
    ],
)
def test_what_means_nothing_to_it_is_refused(keys: dict[str, Any], key: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(ShapeConfig, {"model": {**SHAPE, **keys}})
    (problem,) = refused.value.problems
    assert problem.key == key and complaint in problem.message


def test_a_key_of_the_recurrent_body_is_refused_of_a_transformer() -> None:
    with pytest.raises(ConfigError, match=r"model\.carry_state: unknown key of this type"):
        parse(ShapeConfig, {"model": {"num_layers": 1, "dim": 8, "num_heads": 2, "carry_state": True}})


def test_what_is_left_out_is_filled_in() -> None:
    config = shape()
    assert config.hidden_dim == D and config.init_std == pytest.approx((3 * D) ** -0.5)
    assert parse(ShapeConfig, {"model": config.model_dump(mode="json")}).model == config
