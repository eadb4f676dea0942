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
    """

    def __init__(self, groups: list[Group], config: TrainingConfig, model: nn.Module) -> None:
        everything = list(model.parameters())
        limit = math.inf if config.max_grad_norm is None else config.max_grad_norm
        self.norms = [(everything, limit)]
        if config.embedding_max_grad_norm is not None:
            embeddings = [parameter for group in groups if group["name"] == EMBEDDINGS for parameter in group["params"]]
            members = {id(parameter) for parameter in embeddings}
            others = [parameter for parameter in everything if id(parameter) not in members]
            self.norms = [(embeddings, config.embedding_max_grad_norm), (others, limit)]

    def clip(self) -> Tensor:
        """Clip the gradients of a step, all there and without a loss scale; the norm of all before, ()."""
        norms = [torch.nn.utils.clip_grad_norm_(parameters, limit) for parameters, limit in self.norms]
        return norms[0] if len(norms) == 1 else torch.linalg.vector_norm(torch.stack(norms))


class OutputPath:
    """Keeps the head's gradient of the output embedding (V, E) apart over a step, and joins it once it is limited.

    Its norm is that of the whole step, however many micro-batches that has; of the mean loss with its z-loss, whatever
    fp16 scales it by; and of the output embedding as the head reads it, whatever parameters that is made of. What the
    lookup, a map on the hidden state or a penalty give to the same parameters is not in it. Of a matrix that the lookup
    reads too it takes the memory of one more gradient, on a CPU of its rows alone.
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
