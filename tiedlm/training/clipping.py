"""Limits on the norm of a gradient: of the whole model, of its embeddings, of the output embedding in the head."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from tiedlm.training.config import TrainingConfig
from tiedlm.training.optimizer import EMBEDDING_GROUPS, Group
from tiedlm.training.step import HeadGradient, OutputGradient, TrainingStep


class GradientLimits:
    """Clips the gradients of a step before the optimizer reads them; each parameter is part of one norm.

    That is one norm over all parameters; where the embeddings have a limit of their own, one over theirs and one over
    the rest. A shared matrix counts with the sum of the gradients of its two uses, two matrices with the root of the
    sum of squares: where the two gradients touch different rows or directions, one limit means the same for both.

    Where there is one norm for all, a fused `optimizer` divides by it as it reads the gradients.
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
        # a loss scale uses the same attribute of the optimizer
        self.divides = optimizer.defaults["fused"] and not scaler.is_enabled()
        everything = list(model.parameters())
        limit = math.inf if config.max_grad_norm is None else config.max_grad_norm
        self.norms = [(everything, limit)]
        if config.embedding_max_grad_norm is not None:
            of_embeddings = [group["params"] for group in groups if group["name"] in EMBEDDING_GROUPS]
            embeddings = [parameter for members in of_embeddings for parameter in members]
            members = {id(parameter) for parameter in embeddings}
            others = [parameter for parameter in everything if id(parameter) not in members]
            self.norms = [(embeddings, config.embedding_max_grad_norm), (others, limit)]
            self.divides = False

    def clip(self) -> Tensor:
        """Clip the gradients of a step, which have no loss scale; returns the norm of all before, ()."""
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
    """The norm over all gradients that are not None, ().

    On a CPU row by row first: over a matrix at once torch's sum of squares is off by 4e-3 of the norm at 50 million
    entries, and takes 2.5 times as long (torch 2.13).
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if gradients and gradients[0].device.type == "cpu":
        gradients = [torch.cat([torch.linalg.vector_norm(gradient, dim=-1).flatten() for gradient in gradients])]
    norm: Tensor = torch.nn.utils.get_total_norm(gradients)
    return norm


class OutputPath:
    """Limits the head's gradient of the output embedding (V, E), before anything else joins it.

    Its norm is that of the whole step, however many micro-batches that has; of the mean loss with its z-loss, without
    the loss scale of fp16; and of the output embedding as the head reads it, whatever parameters that is made of. What
    the lookup, a map on the hidden state or a penalty give to the same parameters is not in it. Of a matrix that the
    lookup reads too it takes the memory of one more gradient, on a CPU of its rows alone until the two are joined.
    """

    def __init__(self, step: TrainingStep, config: TrainingConfig) -> None:
        self.step, self.limit = step, config.output_max_grad_norm

    @contextmanager
    def apart(self, scaler: torch.amp.GradScaler) -> Iterator[HeadGradient | None]:
        """Where each micro-batch of a step puts the head's gradient; None, with the other gradients, without a limit.

        At the end the gradient is limited and joins the others.
        """
        if self.limit is None:
            yield None
            return
        head_gradient = HeadGradient()
        yield head_gradient
        gradient, head_gradient.total = head_gradient.total, None
        assert gradient is not None  # the head has used the matrix
        norm = torch.linalg.vector_norm(gradient)
        factor = (self.limit * scaler.get_scale() / norm).clamp(max=1.0)
        # what overflowed must not look as if it had not: the trainer repeats the step, or stops
        factor = torch.where(norm.isfinite(), factor, norm)
        term, _ = self.step(OutputGradient(gradient, factor))
        term.backward()
