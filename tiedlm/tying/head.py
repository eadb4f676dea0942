"""The head: an output embedding with its bias and softcap; hidden states in, scores and likelihoods out.

E width of the output embedding, V vocabulary. Leading dimensions (...) are those of the targets, (B, T) in a model.
Targets of -100 are not scored.
"""

from typing import Self

from torch import Tensor

from tiedlm.kernels import nll


class Head:
    """A matrix (V, E), a bias (V,) or None, and a softcap s or None, by which a score z becomes s tanh(z / s).

    One is made for each forward pass, from what the parameters are then.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None, softcap: float | None = None) -> None:
        self.weight, self.bias, self.softcap = weight, bias, softcap

    def objective(
        self, hidden: Tensor, targets: Tensor, z_loss: float = 0.0, divisor: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """hidden (..., E), targets (...) -> the loss and the nll, both ().

        The nll is the sum in nats over the targets and has no gradient. The loss is the nll plus `z_loss` times the sum
        of (log sum exp z)^2 over the same positions, all of it divided by `divisor`.
        """
        raise NotImplementedError

    def token_nll(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """hidden (..., E), targets (...) -> nll of each target in nats (...), fp32 without gradient, 0 for -100."""
        scored = nll.token_nll(hidden.flatten(0, -2), self.weight, targets.flatten(), self.bias, softcap=self.softcap)
        return scored.view_as(targets)

    def token_nll_and_mass(self, hidden: Tensor, targets: Tensor, membership: Tensor) -> tuple[Tensor, Tensor]:
        """`token_nll`, and the probability that each position gives to groups of tokens (..., G), 0 for -100.

        membership (V, G) holds 1 where a token is in a group, else 0.
        """
        rows, flat = hidden.flatten(0, -2), targets.flatten()
        scored, mass = nll.token_nll_and_mass(rows, self.weight, flat, membership, self.bias, softcap=self.softcap)
        return scored.view_as(targets), mass.view(*targets.shape, -1)

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden (..., E) -> all scores (..., V), fp32 or better: for a few positions at a time."""
        return nll.logits(hidden, self.weight, self.bias, self.softcap)

    def with_weight(self, weight: Tensor) -> Self:
        """The same head with another matrix."""
        return type(self)(weight, self.bias, self.softcap)


class LeanHead(Head):
    """Takes some positions at a time in training and never has all scores at once."""

    def objective(
        self, hidden: Tensor, targets: Tensor, z_loss: float = 0.0, divisor: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        rows, flat, cap = hidden.flatten(0, -2), targets.flatten(), self.softcap
        return nll.objective(rows, self.weight, flat, self.bias, softcap=cap, z_loss=z_loss, divisor=divisor)


class FullHead(Head):
    """Takes the memory of all scores in training (..., V), for gradients by autograd."""

    def objective(
        self, hidden: Tensor, targets: Tensor, z_loss: float = 0.0, divisor: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        rows, flat, cap = hidden.flatten(0, -2), targets.flatten(), self.softcap
        return nll.full_objective(rows, self.weight, flat, self.bias, softcap=cap, z_loss=z_loss, divisor=divisor)
