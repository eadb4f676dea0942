"""The head against full logits: value, gradients, precision."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tiedlm.kernels import chunk_sizes
from tiedlm.kernels import nll as head

V, E = 53, 12


def problem(rows: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    hidden = torch.randn(rows, E, dtype=dtype, generator=generator, requires_grad=True)
    weight = torch.randn(V, E, dtype=dtype, generator=generator, requires_grad=True)
    bias = torch.randn(V, dtype=dtype, generator=generator, requires_grad=True)
    targets = torch.randint(0, V, (rows,), generator=generator)
    targets[::5] = head.IGNORED
    return hidden, weight, bias, targets


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 16, 25])
@pytest.mark.parametrize("with_bias", [True, False])
def test_nll_and_its_gradients_equal_cross_entropy_over_full_logits(rows: int, with_bias: bool) -> None:
    hidden, weight, bias, targets = problem(rows)
    inputs = [hidden, weight, bias] if with_bias else [hidden, weight]
    ours = head.nll(hidden, weight, targets, bias if with_bias else None, chunk_rows=8)
    scores = F.linear(hidden, weight, bias if with_bias else None)
    reference = F.cross_entropy(scores, targets, ignore_index=-100, reduction="sum")
    torch.testing.assert_close(ours, reference, rtol=1e-13, atol=1e-13)
    # scaled after the fact, as a mean over a global batch is
    mine, theirs = torch.autograd.grad(ours / 17, inputs), torch.autograd.grad(reference / 17, inputs)
    torch.testing.assert_close(mine, theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("rows", [8, 25], ids=["one chunk", "four chunks"])
def test_products_in_blocks_of_the_vocabulary_are_those_of_the_whole(
    rows: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> tuple[Tensor, ...]:
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        hidden, weight, bias, targets = problem(rows, wide)
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
            value = head.nll(hidden, weight, targets, bias, chunk_rows=8)
        return value.detach(), *torch.autograd.grad(value, [hidden, weight, bias])

    whole = found()
    monkeypatch.setitem(chunk_sizes.BLOCK_TOKENS, "cpu", 20)
    torch.testing.assert_close(found(), whole, rtol=1e-13 if dtype == torch.float64 else 1e-2, atol=1e-12)


def test_gradients_pass_finite_differences() -> None:
    hidden, weight, bias, targets = problem(5)
    assert torch.autograd.gradcheck(lambda h, w, b: head.nll(h, w, targets, b, chunk_rows=2), (hidden, weight, bias))


def test_ignored_targets_leave_value_and_gradients_of_the_others_alone() -> None:
    hidden, weight, _, targets = problem(11)
    kept = targets != head.IGNORED
    everything = head.nll(hidden, weight, targets, chunk_rows=4)
    alone = head.nll(hidden[kept], weight, targets[kept], chunk_rows=4)
    torch.testing.assert_close(everything, alone)
    (gradient,) = torch.autograd.grad(everything, [hidden])
    assert gradient[~kept].abs().max() == 0


def test_nothing_to_score_is_zero() -> None:
    hidden, weight, _, targets = problem(4)
    total = head.nll(hidden, weight, torch.full_like(targets, head.IGNORED))
    total.backward()
    assert total.item() == 0
    assert weight.grad is not None and weight.grad.abs().max() == 0


def test_token_nll_adds_up_to_nll_and_is_zero_where_ignored() -> None:
    hidden, weight, bias, targets = problem(23)
    each = head.token_nll(hidden, weight, targets, bias, chunk_rows=6)
    torch.testing.assert_close(each.sum(), head.nll(hidden, weight, targets, bias).detach())
    assert each[targets == head.IGNORED].abs().max() == 0
    assert not each.requires_grad


class Largest(TorchDispatchMode):
    """Notes the most bytes that one operation gave out."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.num_bytes = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        sizes = [leaf.nbytes for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        self.num_bytes = max(self.num_bytes, *sizes, 0)
        return result


def test_scoring_takes_no_more_memory_at_once_than_training() -> None:
    """A run validates on its way, and its peak is to be that of a step."""
    hidden, weight = torch.zeros(1024, 2), torch.zeros(8192, 2, requires_grad=True)
    targets = torch.zeros(1024, dtype=torch.long)
    with torch.autocast("cpu", torch.bfloat16):
        with Largest() as training:
            head.nll(hidden, weight, targets)
        with Largest() as scoring:
            head.token_nll(hidden, weight, targets)
    assert 256 * 8192 * 4 <= scoring.num_bytes <= training.num_bytes


@pytest.mark.parametrize("target", [-1, V])
def test_a_target_outside_the_vocabulary_is_an_error(target: int) -> None:
    hidden, weight, _, targets = problem(10, torch.float32)
    targets[4] = target
    for score in (head.nll, head.token_nll):
        with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
            score(hidden, weight, targets)


def test_equal_logits_score_ln_v() -> None:
    hidden, weight, _, targets = problem(10, torch.float32)
    each = head.token_nll(hidden, torch.zeros_like(weight), targets)
    torch.testing.assert_close(each[targets >= 0].exp(), torch.full_like(each[targets >= 0], V))


def test_without_gradients_only_the_value_is_formed() -> None:
    hidden, weight, bias, targets = problem(9)
    with torch.no_grad():
        value = head.nll(hidden, weight, targets, bias)
    assert not value.requires_grad
    torch.testing.assert_close(value, head.nll(hidden, weight, targets, bias).detach(), rtol=0, atol=0)


def test_p07_a_sum_of_many_nlls_is_kept_in_fp32_under_autocast() -> None:
    """7,000 nlls of 11 are 77,000: fp16 overflows, bf16 sticks at 4,096."""
    bias = torch.zeros(2)
    bias[1] = 11.0
    hidden, weight = torch.zeros(7000, 4), torch.zeros(2, 4, requires_grad=True)
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype):
            total = head.nll(hidden, weight, torch.zeros(7000, dtype=torch.long), bias)
        assert total.dtype is torch.float32
        assert total.item() == pytest.approx(7000 * (11 + torch.tensor(-11.0).exp().log1p().item()), rel=1e-5)


def test_the_gradient_of_the_matrix_comes_back_in_fp32_under_autocast() -> None:
    hidden, weight, _, targets = problem(64, torch.float32)
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        head.nll(hidden, weight, targets, chunk_rows=16).backward()
    assert weight.grad is not None and weight.grad.dtype is torch.float32
    exact_hidden, exact_weight = hidden.detach().double(), weight.detach().double().requires_grad_()
    F.cross_entropy(exact_hidden @ exact_weight.t(), targets, reduction="sum").backward()
    assert exact_weight.grad is not None
    error = (weight.grad - exact_weight.grad).norm() / exact_weight.grad.norm()
    assert error < 2**-7  # bf16 keeps 8 bits; many chunks must not add to that


def test_small_gradients_survive_fp16() -> None:
    """The gradient of a mean over 10^6 targets is below fp16's smallest number until it is scaled in fp32."""
    hidden, weight, _, targets = problem(10, torch.float32)
    with torch.autocast("cpu", torch.float16, cache_enabled=False):
        loss = head.nll(hidden, weight, targets) / 1e6
    (half,) = torch.autograd.grad(loss, [hidden])
    (full,) = torch.autograd.grad(head.nll(hidden, weight, targets) / 1e6, [hidden])
    torch.testing.assert_close(half, full, rtol=0.02, atol=1e-8)
    assert half.abs().max() > 0


@pytest.mark.parametrize("rows", [1, 8, 25])
@pytest.mark.parametrize("with_bias", [True, False])
def test_mass_is_the_softmax_added_up_by_group_and_the_nll_beside_it_is_the_same(rows: int, with_bias: bool) -> None:
    hidden, weight, bias, targets = problem(rows)
    offset = bias if with_bias else None
    group = torch.arange(V) % 4 % 3  # groups of different sizes
    nll, mass = head.token_nll_and_mass(hidden, weight, targets, F.one_hot(group), offset, chunk_rows=8)
    assert torch.equal(nll, head.token_nll(hidden, weight, targets, offset, chunk_rows=8))
    probabilities = F.linear(hidden, weight, offset).softmax(-1) * (targets != head.IGNORED).unsqueeze(1)
    expected = torch.stack([probabilities[:, group == number].sum(1) for number in range(3)], 1)
    torch.testing.assert_close(mass, expected, rtol=1e-12, atol=1e-15)
    assert not mass.requires_grad


def test_mass_of_all_groups_is_one_in_fp32_and_under_autocast() -> None:
    hidden, weight, bias, targets = (tensor.detach() for tensor in problem(16, torch.float32))
    membership = F.one_hot(torch.arange(V) % 6)
    _, mass = head.token_nll_and_mass(hidden, weight, targets, membership, bias)
    torch.testing.assert_close(mass.sum(1), (targets != head.IGNORED).float(), rtol=1e-6, atol=0)
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        assert torch.equal(head.token_nll_and_mass(hidden, weight, targets, membership, bias)[1], mass)


def written_out(
    hidden: Tensor, weight: Tensor, targets: Tensor, bias: Tensor | None, softcap: float | None, z_loss: float
) -> tuple[Tensor, Tensor]:
    """Objective and nll by their formulas, over full logits."""
    scores = F.linear(hidden, weight, bias)
    scores = scores if softcap is None else softcap * torch.tanh(scores / softcap)
    nll = F.cross_entropy(scores, targets, ignore_index=-100, reduction="sum")
    sums = scores[targets != head.IGNORED].logsumexp(-1)
    return nll + z_loss * sums.square().sum(), nll


TREATED = pytest.mark.parametrize(("softcap", "z_loss"), [(2.0, 0.0), (None, 0.3), (2.0, 0.3)])


@TREATED
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("rows", [1, 8, 25])
def test_softcap_and_z_loss_are_their_formulas_in_value_and_every_gradient(
    softcap: float | None, z_loss: float, with_bias: bool, rows: int
) -> None:
    hidden, weight, bias, targets = problem(rows)
    targets[0] = 3  # of a single row too
    inputs, offset = ([hidden, weight, bias], bias) if with_bias else ([hidden, weight], None)
    ours, nll = head.objective(hidden, weight, targets, offset, 8, softcap, z_loss)
    reference, plain = written_out(hidden, weight, targets, offset, softcap, z_loss)
    torch.testing.assert_close((ours, nll), (reference, plain.detach()), rtol=1e-13, atol=1e-13)
    assert not nll.requires_grad
    torch.testing.assert_close(head.nll(hidden, weight, targets, offset, 8, softcap), plain, rtol=1e-13, atol=1e-13)
    mine, theirs = torch.autograd.grad(ours / 17, inputs), torch.autograd.grad(reference / 17, inputs)
    torch.testing.assert_close(mine, theirs, rtol=1e-11, atol=1e-13)


def test_gradients_through_softcap_and_z_loss_pass_finite_differences() -> None:
    hidden, weight, bias, targets = problem(3)
    inputs = hidden, weight, bias
    assert torch.autograd.gradcheck(lambda h, w, b: head.objective(h, w, targets, b, 2, 2.0, 0.3)[0], inputs)


def test_without_a_coefficient_the_objective_is_the_nll_to_the_last_bit() -> None:
    hidden, weight, bias, targets = problem(25, torch.float32)
    ours, nll = head.objective(hidden, weight, targets, bias, 8)
    assert torch.equal(ours, nll) and torch.equal(ours, head.nll(hidden, weight, targets, bias, 8))


def test_the_second_value_is_the_nll_to_the_last_bit_whatever_the_coefficient() -> None:
    hidden, weight, bias, targets = problem(25, torch.float32)
    ours, nll = head.objective(hidden, weight, targets, bias, z_loss=0.5)
    assert torch.equal(nll, head.nll(hidden, weight, targets, bias).detach()) and ours > nll


def test_a_cap_is_in_all_that_is_told_of_a_model_alike() -> None:
    hidden, weight, bias, targets = problem(23)
    scores = head.logits(hidden, weight, bias, 2.0)
    assert scores.abs().max() < 2 < head.logits(hidden, weight, bias).abs().max()
    torch.testing.assert_close(scores, 2 * torch.tanh(F.linear(hidden, weight, bias) / 2))
    each = head.token_nll(hidden, weight, targets, bias, 6, 2.0)
    torch.testing.assert_close(each, F.cross_entropy(scores, targets, reduction="none").detach())
    torch.testing.assert_close(each.sum(), head.nll(hidden, weight, targets, bias, 6, 2.0).detach())
    group = F.one_hot(torch.arange(V) % 3)
    nll, mass = head.token_nll_and_mass(hidden, weight, targets, group, bias, 6, 2.0)
    assert torch.equal(nll, each)
    expected = scores.softmax(-1) @ group.double() * (targets != head.IGNORED).unsqueeze(1)
    torch.testing.assert_close(mass, expected.detach())


def test_a_cap_far_above_the_scores_caps_nothing() -> None:
    hidden, weight, bias, targets = problem(9)
    inputs = [hidden, weight, bias]
    capped, plain = head.nll(hidden, weight, targets, bias, 8, 1e7), head.nll(hidden, weight, targets, bias, 8)
    torch.testing.assert_close(capped, plain)
    torch.testing.assert_close(torch.autograd.grad(capped, inputs), torch.autograd.grad(plain, inputs))


@pytest.mark.parametrize(("dtype", "rounding"), [(torch.bfloat16, 0.06), (torch.float16, 0.01)])
def test_softcap_and_z_loss_are_formed_in_fp32_under_autocast(dtype: torch.dtype, rounding: float) -> None:
    """Scores of hundreds, of which bf16 rounds off up to 0.5, and squares of more than fp16 holds."""
    hidden, weight, bias, targets = problem(64, torch.float32)
    with torch.no_grad():
        weight.mul_(20)
    with torch.autocast("cpu", dtype, cache_enabled=False):
        ours, _ = head.objective(hidden, weight, targets, bias, 16, 300.0, 0.01)
    assert ours.dtype is torch.float32
    reference, _ = written_out(hidden.double(), weight.double(), targets, bias.double(), 300.0, 0.01)
    assert ours.item() == pytest.approx(reference.item(), rel=0.01)
    (mine,), (theirs,) = torch.autograd.grad(ours, [weight]), torch.autograd.grad(reference, [weight])
    assert mine.dtype is torch.float32
    assert float((mine - theirs).norm() / theirs.norm()) < rounding


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_divisor_divides_the_objective_and_every_gradient_and_not_the_nll(dtype: torch.dtype) -> None:
    hidden, weight, bias, targets = problem(24)
    found = []
    for divisor in (1.0, 24.0):
        leaves = [tensor.detach().float().requires_grad_() for tensor in (hidden, weight, bias)]
        with torch.autocast("cpu", dtype=dtype, enabled=dtype != torch.float32):
            loss, nll = head.objective(leaves[0], leaves[1], targets, leaves[2], z_loss=0.1, divisor=divisor)
        loss.backward()
        gradients = [leaf.grad for leaf in leaves if leaf.grad is not None]
        assert len(gradients) == 3
        found.append([loss.detach() * divisor, nll, *(gradient * divisor for gradient in gradients)])
    rounding = {torch.float32: 1e-6, torch.bfloat16: 2e-2, torch.float16: 2e-3}[dtype]
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=rounding, atol=rounding * float(one.abs().max()))
    assert torch.equal(found[0][1], found[1][1])


def test_how_many_rows_go_through_at_once_changes_rounding_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    hidden, weight, bias, targets = problem(25)

    def gradients() -> list[torch.Tensor]:
        leaves = [tensor.detach().clone().requires_grad_() for tensor in (hidden, weight, bias)]
        loss = head.nll(leaves[0], leaves[1], targets, leaves[2], chunk_rows=10, softcap=5.0)
        return [loss, *torch.autograd.grad(loss, leaves)]

    whole = gradients()
    monkeypatch.setattr(chunk_sizes, "SOFTMAX_ENTRIES", {"cpu": 3 * len(weight)})
    for one, other in zip(whole, gradients(), strict=True):
        torch.testing.assert_close(one, other)


def test_the_way_back_can_be_taken_again() -> None:
    hidden, weight, _, targets = problem(9, torch.float32)
    weight.requires_grad_()
    loss = head.nll(hidden, weight, targets, chunk_rows=4)
    once = torch.autograd.grad(loss, weight, 3 * torch.ones_like(loss), retain_graph=True)[0]
    assert torch.equal(once, torch.autograd.grad(loss, weight, 3 * torch.ones_like(loss))[0])


def test_many_equal_targets_overflow_no_sum_in_fp16(monkeypatch: pytest.MonkeyPatch) -> None:
    """No loss scale would help: the gradients are formed before it joins."""
    monkeypatch.setattr(chunk_sizes, "MAX_ROWS", {"cpu": 8192})  # as on a GPU
    hidden = torch.full((8192, 4), 10.0, requires_grad=True)
    weight = torch.zeros(3, 4, requires_grad=True)
    with torch.autocast("cpu", torch.float16):
        head.nll(hidden, weight, torch.ones(8192, dtype=torch.long)).backward()
    assert weight.grad is not None
    torch.testing.assert_close(weight.grad[1], torch.full((4,), -8192 * 10 * 2 / 3), rtol=1e-2, atol=0)


@pytest.mark.parametrize("offset", [0.0, 30.0, 1e3, 1e4])
def test_what_all_scores_have_in_common_takes_no_digit_of_the_nll(offset: float) -> None:
    """As exact as torch's own: the likelier the target, the smaller what is left of the scores."""
    generator = torch.Generator().manual_seed(0)
    scores = (torch.randn(64, 97, generator=generator) * 3 + offset).float()  # (N, V)
    targets = scores.argmax(-1)
    for row, lead in enumerate((4, 8, 11.5) * 21):
        scores[row, targets[row]] += lead
    exact = F.cross_entropy(scores.double(), targets, reduction="sum")
    torchs = F.cross_entropy(scores, targets, reduction="sum")
    ours = head.nll(scores, torch.eye(97), targets)  # the scores are the hidden states: a product with 1 and 0 is exact
    assert abs(ours - exact) <= 2 * abs(torchs - exact) + 1e-6 * exact


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("z_loss", [0.0, 1e-2])
@pytest.mark.parametrize("softcap", [None, 3.0])
def test_all_scores_at_once_give_the_same_value_and_gradients(
    dtype: torch.dtype, z_loss: float, softcap: float | None
) -> None:
    generator = torch.Generator().manual_seed(0)
    shapes = ((50, 8), (97, 8), (97,))
    leaves = [torch.randn(shape, generator=generator, dtype=dtype).requires_grad_() for shape in shapes]
    targets = torch.randint(97, (50,), generator=generator)
    targets[::7] = head.IGNORED

    def found(objective: Any) -> list[Tensor]:
        hidden, weight, bias = leaves
        total, value = objective(hidden, weight, targets, bias, softcap=softcap, z_loss=z_loss, divisor=40.0)
        assert not value.requires_grad
        return [total.detach(), value, *torch.autograd.grad(total, leaves)]

    for lean, full in zip(found(head.objective), found(head.full_objective), strict=True):
        torch.testing.assert_close(lean, full)
