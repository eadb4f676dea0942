"""One step of training: its loss and gradients written out, and how far it takes each parameter."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.support.tying_runs import losses
from tiedlm.kernels.nll import IGNORED
from tiedlm.model.language_model import LanguageModel
from tiedlm.training.trainer import Trainer

PLAIN: dict[str, Any] = {
    "optimizer": "sgd",
    "momentum": 0.0,
    "weight_decay": 0.0,
    "learning_rate": 1.0,
    "schedule": "constant",
    "max_grad_norm": None,
}
"""A step is the gradient."""


def moved(training: Trainer, num_steps: int = 1) -> dict[str, Tensor]:
    """How far each parameter goes in some steps."""
    before = {name: parameter.detach().clone() for name, parameter in training.model.named_parameters()}
    losses(training, num_steps)
    return {name: before[name] - parameter.detach() for name, parameter in training.model.named_parameters()}


def of_embeddings(tensors: dict[str, Tensor], *, others: bool = False) -> dict[str, Tensor]:
    """The part of the embeddings (matrices of the tying), or all but them."""
    return {
        name: tensor for name, tensor in tensors.items() if others != (name.startswith("tying.") and tensor.dim() > 1)
    }


def assert_close(mine: dict[str, Tensor], theirs: dict[str, Tensor], tolerance: float = 1e-6) -> None:
    for name, tensor in theirs.items():
        torch.testing.assert_close(mine[name], tensor, rtol=1e-4, atol=tolerance)


def batch(training: Trainer) -> tuple[Tensor, Tensor]:
    ids, targets = training.batches.batch(training.progress.step)
    return torch.from_numpy(ids), torch.from_numpy(targets)


def written_out(training: Trainer, z_loss: float = 0.0) -> tuple[Tensor, Tensor]:
    """The loss of the next step over full logits, and the output embedding in it."""
    model, (ids, targets) = training.model, batch(training)
    weight = model.tying.output_weight()
    scores = F.linear(model.tying.project(model(ids)), weight, model.tying.output_bias()).flatten(0, 1)
    loss = F.cross_entropy(scores, targets.flatten(), ignore_index=IGNORED)
    loss = loss + z_loss * scores.logsumexp(-1)[targets.flatten() != IGNORED].square().mean()
    penalty = model.tying.penalty()
    return (loss if penalty is None else loss + penalty), weight


def by_name(model: LanguageModel, values: Any) -> dict[str, Tensor]:
    names = [name for name, _ in model.named_parameters()]
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def gradients(training: Trainer, z_loss: float = 0.0) -> dict[str, Tensor]:
    loss, _ = written_out(training, z_loss)
    found = torch.autograd.grad(loss, list(training.model.parameters()), allow_unused=True)
    return by_name(training.model, found)
