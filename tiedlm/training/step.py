"""The one module that training calls: whatever wraps a model for training (DDP, FSDP2, compile) wraps this one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from tiedlm.model.language_model import LanguageModel
from tiedlm.model.state import State
from tiedlm.training.config import TrainingConfig
from tiedlm.training.machine import Machine
from tiedlm.tying.head import FullHead, Head, LeanHead


class HeadGradient:
    """The head's gradient of the output embedding (V, E), added up over the micro-batches of a step.

    It is kept apart from all other gradients until an `OutputGradient` brings it back into the tying.
    """

    def __init__(self) -> None:
        self.total: Tensor | None = None
        self.hooks: list[Callable[[Tensor], None]] = [self._keep]
        """Called with the detached weight each time that its gradient was added up."""

    def detached(self, head: Head) -> Head:
        """The same head with a weight that is no part of the graph, whose gradient is added to `total`."""
        leaf = head.weight.detach().requires_grad_()
        leaf.grad = self.total
        for hook in self.hooks:
            leaf.register_post_accumulate_grad_hook(hook)
        return head.with_weight(leaf)

    def _keep(self, leaf: Tensor) -> None:
        self.total = leaf.grad


@dataclass(frozen=True)
class MicroBatchLoss:
    """A micro-batch whose loss is to be computed, as its share of the loss of the global batch.

    Its summed nll is divided by `num_targets`, the scored targets of the *global* batch, so that the shares of all
    micro-batches add up to the mean loss. The penalty is divided among `num_penalty_shares` micro-batches; None: this
    one adds nothing of it, for what must stand in the loss once, however many processes share a step. A recurrent body
    starts from `state` and writes its last one to it. With a `head_gradient` the head's gradient of the output
    embedding goes there and not to the parameters.
    """

    ids: Tensor  # (B, T)
    targets: Tensor  # (B, T)
    num_targets: int
    num_penalty_shares: int | None = None
    state: State | None = None
    head_gradient: HeadGradient | None = None


@dataclass(frozen=True)
class OutputGradient:
    """A gradient of the output embedding (V, E) on its way into the parameters, multiplied by `factor` (), in place."""

    gradient: Tensor
    factor: Tensor


class TrainingStep(nn.Module):
    """A model with its objective. DDP and FSDP2 hook `forward`, so all that reads parameters goes through it."""

    def __init__(
        self, model: LanguageModel, machine: Machine, z_loss: float = 0.0, head: type[Head] = LeanHead
    ) -> None:
        super().__init__()
        self.model = model
        self.machine = machine
        self.z_loss = z_loss
        self.head = head

    def forward(self, term: MicroBatchLoss | OutputGradient) -> tuple[Tensor, Tensor]:
        """A term of the loss and its nll without gradient, both ().

        The shares of all micro-batches add up to the loss, in which the penalty stands once and the z-loss as a mean
        over the same targets. The term of an `OutputGradient` is 0 and has that gradient.
        """
        if isinstance(term, OutputGradient):
            weight = self.model.tying.output_weight()
            zero: Tensor = _InjectGradient.apply(weight, term)  # type: ignore[no-untyped-call]
            return zero, zero.detach()
        num_shares = term.num_penalty_shares
        # built first, so that its backward pass runs last, after the activations are freed
        penalty = self.model.tying.penalty() if num_shares else None
        with self.machine.autocast():
            vectors, head = self.model.embed_with_head(term.ids, self.head)
            hidden = self.model.projected(term.ids, term.state, vectors)
            if term.head_gradient is not None:
                head = term.head_gradient.detached(head)
            loss, nll = head.objective(hidden, term.targets, self.z_loss, term.num_targets)
        if penalty is not None and num_shares:
            loss = loss + penalty / num_shares
        return loss, nll

    def seed(self, seed: int) -> None:
        """Start the random streams of a micro-batch: that of dropout in the body, and those of the embedding path."""
        torch.manual_seed(seed)
        self.model.tying.input_path.seed(seed)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile the decoder, for training and scoring. Embeddings and head stay as they are: they have kernels."""
        self.model.compile(*args, **kwargs)


def build_step(model: LanguageModel, machine: Machine, config: TrainingConfig) -> TrainingStep:
    """The step that the recipe describes."""
    return TrainingStep(model, machine, config.z_loss, FullHead if config.effective_head == "full" else LeanHead)


class _InjectGradient(torch.autograd.Function):
    """Returns 0, (); its backward pass injects a precomputed gradient, which autograd carries into the parameters."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, given: OutputGradient) -> Tensor:
        ctx.given = given
        return weight.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
        return ctx.given.gradient.mul_(ctx.given.factor * upstream), None
