"""A head as an object: lean and full have one contract, and a detached weight leaves the graph."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tiedlm.tying.head import FullHead, Head, LeanHead

V, E = 37, 6
KINDS = pytest.mark.parametrize("kind", [LeanHead, FullHead])


def drawn(*shape: int, seed: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def problem() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """hidden (2, 5, E), weight, bias, targets (2, 5), two of which are not scored."""
    targets = torch.randint(V, (2, 5), generator=torch.Generator().manual_seed(3))
    targets[1, 3:] = -100
    return drawn(2, 5, E, seed=0), drawn(V, E, seed=1), drawn(V, seed=2), targets


@KINDS
@pytest.mark.parametrize("softcap", [None, 2.0])
@pytest.mark.parametrize("z_loss", [0.0, 0.3])
def test_the_objective_and_its_gradients_are_those_of_the_formula(
    kind: type[Head], softcap: float | None, z_loss: float
) -> None:
    hidden, weight, bias, targets = problem()
    loss, nll = kind(weight, bias, softcap).objective(hidden, targets, z_loss, 7.0)
    scores = F.linear(hidden, weight, bias)
    scores = scores if softcap is None else softcap * torch.tanh(scores / softcap)
    expected = F.cross_entropy(scores.flatten(0, 1), targets.flatten(), reduction="sum")
    sums = scores[targets != -100].logsumexp(-1)
    whole = (expected + z_loss * sums.square().sum()) / 7
    torch.testing.assert_close((loss, nll), (whole, expected.detach()))
    assert not nll.requires_grad
    inputs = [hidden, weight, bias]
    torch.testing.assert_close(torch.autograd.grad(loss, inputs), torch.autograd.grad(whole, inputs))


@KINDS
def test_scores_of_each_token_keep_the_shape_of_the_targets(kind: type[Head]) -> None:
    hidden, weight, bias, targets = problem()
    head = kind(weight, bias, 2.0)
    logits = head.logits(hidden)
    assert logits.shape == (2, 5, V)
    nll = head.token_nll(hidden, targets)
    expected = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view(2, 5)
    torch.testing.assert_close(nll, expected.detach())
    again, mass = head.token_nll_and_mass(hidden, targets, F.one_hot(torch.arange(V) % 3))
    assert torch.equal(nll, again) and mass.shape == (2, 5, 3)
    torch.testing.assert_close(mass.sum(-1), (targets != -100).double())


@KINDS
def test_another_weight_changes_nothing_else(kind: type[Head]) -> None:
    hidden, weight, bias, targets = problem()
    head = kind(weight, bias, 2.0)
    leaf = weight.detach().requires_grad_()
    detached: Any = head.with_weight(leaf)
    assert type(detached) is kind
    one, other = (each.objective(hidden, targets)[0] for each in (head, detached))
    assert torch.equal(one, other)
    expected = torch.autograd.grad(one, [hidden, weight, bias])
    found = torch.autograd.grad(other, [hidden, leaf, bias])
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(found, expected, strict=True))
    detached.objective(hidden, targets)[0].backward()
    assert leaf.grad is not None and weight.grad is None
