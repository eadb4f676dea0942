"""How large a gradient may be, of the whole model, of its embeddings, of the output embedding's use in the head."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from tiedlm.training.config import TrainingConfig
from tiedlm.training.optimizer import EMBEDDINGS, Group
from tiedlm.tying.base import Tying


class GradientLimits:
    """Clips what the optimizer is about to be given, each parameter in one norm.

    That is one norm over all parameters; where the embeddings have a limit of their own, one over theirs, which they
    share as all parameters share the other, and one over the rest. A shared matrix counts with the sum of what its two
    uses give, two matrices with the root of the sum of squares: where the two gradients touch different rows or
    directions, one limit means the same for both ways.

    Where one norm is all there is, a fused `optimizer` divides by it as it reads the gradients.
    """

    def __init__(
        self,
        groups: list[Group],
        config: TrainingConfig,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        scaler: torch.amp.GradScaler,
    ) -> None:
        self.optimizer = optimizer
        # a loss scale takes the same way into the optimizer
        self.divides = optimizer.defaults["fused"] and not scaler.is_enabled()
        everything = list(model.parameters())
        limit = math.inf if config.max_grad_norm is None else config.max_grad_norm
        self.norms = [(everything, limit)]
        if config.embedding_max_grad_norm is not None:
            embeddings = [parameter for group in groups if group["name"] == EMBEDDINGS for parameter in group["params"]]
            members = {id(parameter) for parameter in embeddings}
            others = [parameter for parameter in everything if id(parameter) not in members]
            self.norms = [(embeddings, config.embedding_max_grad_norm), (others, limit)]
            self.divides = False

    def clip(self) -> Tensor:
        """Clip the gradients of a step, all there and without a loss scale; the norm of all before, ()."""
        norms = [gradient_norm(parameters) for parameters, _ in self.norms]
        for norm, (parameters, limit) in zip(norms, self.norms, strict=True):
            if limit == math.inf:
                continue
            if self.divides:
                self.optimizer.grad_scale = (norm / limit).clamp(min=1.0)  # type: ignore[attr-defined]
            else:
                torch.nn.utils.clip_grads_with_norm_(parameters, limit, norm)
        return norms[0] if len(norms) == 1 else torch.linalg.vector_norm(torch.stack(norms))


def gradient_norm(parameters: list[nn.Parameter]) -> Tensor:
    """The norm over all gradients that are there, ().

    On a CPU row by row first: of a matrix as a whole torch adds up the squares in a way that is off by 4e-3 of the norm
    at 50 million entries, and takes 2.5 times as long (torch 2.13).
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if gradients and gradients[0].device.type == "cpu":
        gradients = [torch.cat([torch.linalg.vector_norm(gradient, dim=-1).flatten() for gradient in gradients])]
    norm: Tensor = torch.nn.utils.get_total_norm(gradients)
    return norm


class OutputPath:
    """Keeps the head's gradient of the output embedding (V, E) apart over a step, and joins it once it is limited.

    Its norm is that of the whole step, however many micro-batches that has; of the mean loss with its z-loss, whatever
    fp16 scales it by; and of the output embedding as the head reads it, whatever parameters that is made of. What the
    lookup, a map on the hidden state or a penalty give to the same parameters is not in it. Of a matrix that the lookup
    reads too it takes the memory of one more gradient, on a CPU of its rows alone until the two are joined.
    """

    def __init__(self, tying: Tying, config: TrainingConfig) -> None:
        self.tying, self.limit = tying, config.output_max_grad_norm

    @contextmanager
    def apart(self, scaler: torch.amp.GradScaler) -> Iterator[Tensor | None]:
        """The matrix for the head of each micro-batch of a step; None, for the tying's own, where there is no limit."""
        if self.limit is None:
            yield None
            return
        weight = self.tying.output_weight().detach().requires_grad_()
        yield weight
        assert weight.grad is not None  # the head has used it
        norm = torch.linalg.vector_norm(weight.grad)
        share = (self.limit * scaler.get_scale() / norm).clamp(max=1.0)
        # what overflowed must not look as if it had not: the loop takes the step again, or stops
        gradient = weight.grad.mul_(torch.where(norm.isfinite(), share, norm))
        self.tying.output_weight().backward(gradient)
